package stamp

import (
	"bytes"
	"iter"
)

// A stamp is ~<number>.<microseconds>~.
const (
	mark  = '~'
	point = '.'

	// longest is more than a stamp can have: two marks, a point and twice 20 digits.
	longest = 44
)

// Scan gives the stamps in b, in order: the number of each event and when it was due, in
// microseconds since 1970. What is no whole stamp is passed over.
func Scan(b []byte) iter.Seq2[uint64, int64] {
	return func(yield func(uint64, int64) bool) {
		for {
			i := bytes.IndexByte(b, mark)
			if i < 0 {
				return
			}
			b = b[i:]
			n, due, size := parse(b)
			if size == 0 {
				b = b[1:] // no stamp, or one that is cut off
				continue
			}
			if b = b[size:]; !yield(n, due) {
				return
			}
		}
	}
}

// First gives the first stamp in b; false says that there is none.
func First(b []byte) (n uint64, due int64, ok bool) {
	for n, due := range Scan(b) {
		return n, due, true
	}
	return 0, 0, false
}

// parse reads the stamp that b begins with; size 0 says that there is none, or not all
// of it.
func parse(b []byte) (n uint64, due int64, size int) {
	if len(b) == 0 || b[0] != mark {
		return 0, 0, 0
	}
	n, i := digits(b, 1)
	if i == 1 || i >= len(b) || b[i] != point {
		return 0, 0, 0
	}
	d, j := digits(b, i+1)
	if j == i+1 || j >= len(b) || b[j] != mark {
		return 0, 0, 0
	}
	return n, int64(d), j + 1
}

// digits reads up to 19 digits, which no uint64 overflows by, and gives where they end.
func digits(b []byte, from int) (n uint64, end int) {
	end = from
	for end < len(b) && end-from < 19 && b[end]-'0' <= 9 {
		n = n*10 + uint64(b[end]-'0')
		end++
	}
	return n, end
}

// Scanner finds stamps in bytes that come in pieces. The zero Scanner is ready.
type Scanner struct {
	kept [2 * longest]byte // the begin of a stamp whose rest has not come
	n    int
}

// Reset forgets what a piece ended with.
func (s *Scanner) Reset() { s.n = 0 }

// Scan gives the stamps that the next piece completes, as of the function Scan. Who stops
// before the last one has given up the rest of the piece.
func (s *Scanner) Scan(b []byte) iter.Seq2[uint64, int64] {
	return func(yield func(uint64, int64) bool) {
		if s.n > 0 {
			taken := copy(s.kept[s.n:s.n+min(longest, len(s.kept)-s.n)], b)
			n, due, size := parse(s.kept[:s.n+taken])
			switch {
			case size > 0:
				b = b[size-s.n:]
				s.n = 0
				if !yield(n, due) {
					return
				}
			case taken == len(b) && open(s.kept[:s.n+taken]):
				s.n += taken // still not all of it
				return
			default:
				s.n = 0 // it was none; one that begins in b is found below
			}
		}
		for n, due := range Scan(b) {
			if !yield(n, due) {
				return
			}
		}
		s.keep(b)
	}
}

// keep remembers the begin of a stamp that b ends with.
func (s *Scanner) keep(b []byte) {
	tail := b[max(0, len(b)-longest):]
	if i := bytes.LastIndexByte(tail, mark); i >= 0 && open(tail[i:]) {
		s.n = copy(s.kept[:], tail[i:])
	}
}

// open says whether b could be the begin of a stamp.
func open(b []byte) bool {
	_, i := digits(b, 1)
	if i == len(b) {
		return true
	}
	if i == 1 || b[i] != point {
		return false
	}
	_, j := digits(b, i+1)
	return j == len(b)
}
