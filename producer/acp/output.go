package acp

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// output keeps the last bytes of what a terminal prints.
type output struct {
	mu    sync.Mutex
	limit int
	b     []byte // at most twice limit, so that bytes are moved seldom
	cut   bool
}

// fill reads until the end.
func (o *output) fill(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		o.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if over := len(o.b) + len(b) - 2*o.limit; over > 0 {
		o.cut = true
		keep := max(0, o.limit-len(b))
		o.b = append(o.b[:0], o.b[len(o.b)-min(keep, len(o.b)):]...)
		b = b[max(0, len(b)-o.limit):]
	}
	o.b = append(o.b, b...)
}

// last gives at most limit bytes of the end, from the beginning of a character on, and
// whether there was more before it.
func (o *output) last(limit int) (text string, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	limit = min(limit, o.limit)
	b := o.b[max(0, len(o.b)-limit):]
	cut = o.cut || len(b) < len(o.b)
	for i := 0; cut && i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), cut
}
