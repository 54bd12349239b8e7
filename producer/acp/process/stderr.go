package process

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"
)

// What of standard error is logged: a process that floods it must not flood the log.
const (
	stderrRead   = 32 << 10
	stderrLine   = 1 << 10 // bytes of a line; the rest is dropped
	stderrBurst  = 50      // lines within stderrPeriod
	stderrPeriod = 10 * time.Second
)

// stderr logs what a process says on standard error, and knows the last line of it.
type stderr struct {
	log *slog.Logger

	line    []byte // the line under way, at most stderrLine
	left    int    // how many lines may be logged before until
	until   time.Time
	dropped int

	mu   sync.Mutex
	last []byte
}

// drain reads until the end. It waits for nothing but r.
func (s *stderr) drain(r io.Reader) {
	buf := make([]byte, stderrRead)
	for {
		n, err := r.Read(buf)
		s.take(buf[:n])
		if err != nil {
			s.end()
			s.owned()
			return
		}
	}
}

func (s *stderr) take(said []byte) {
	for len(said) > 0 {
		line, rest, whole := bytes.Cut(said, []byte("\n"))
		if room := stderrLine - len(s.line); room > 0 {
			s.line = append(s.line, line[:min(room, len(line))]...)
		}
		if whole {
			s.end()
		}
		said = rest
	}
}

// end ends a line.
func (s *stderr) end() {
	line := bytes.TrimSpace(s.line)
	s.line = s.line[:0]
	if len(line) == 0 {
		return
	}
	s.mu.Lock()
	s.last = append(s.last[:0], line...)
	s.mu.Unlock()

	if s.left == 0 {
		now := time.Now()
		if now.Before(s.until) {
			s.dropped++
			return
		}
		s.owned()
		s.left, s.until = stderrBurst, now.Add(stderrPeriod)
	}
	s.left--
	s.log.Info("the agent says", "stderr", Clean(line, stderrLine))
}

// owned logs how many lines were not.
func (s *stderr) owned() {
	if s.dropped > 0 {
		s.log.Warn("the agent says more than is logged", "lines", s.dropped)
		s.dropped = 0
	}
}

// lastLine is the last line that is not blank, cleaned.
func (s *stderr) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Clean(s.last, maxLast)
}

// maxLast is how much of a last line an error's text has.
const maxLast = 300
