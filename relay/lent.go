package relay

import (
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// lendWithin is the part of keepAlive within which a sink is lent without a comment: a row
// knows only when it wrote last itself.
const lendWithin = 4

// lend leaves the writing to a row. Nothing is in the buffer.
func (s *sink) lend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gather.err == nil && time.Since(s.last) > s.keepAlive/lendWithin {
		s.open()
		s.gather.buf = consumer.AppendComment(s.gather.buf, "")
		_ = s.flushLocked()
	}
	if s.gather.err != nil {
		return s.gather.err
	}
	s.lent = true
	s.timer.Stop()
	return nil
}

// takeBack ends that, and sends what a row could not.
func (s *sink) takeBack(m *member) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent = false
	s.bytes += m.bytes
	// A row that has written is silent for the rest of keepAlive at most; else what went out
	// before still counts.
	if most := time.Now().Add(s.keepAlive/lendWithin - s.keepAlive); m.bytes > 0 && s.last.Before(most) {
		s.last = most
	}
	err := m.err
	if err == nil && m.rest != nil {
		err = wrapWrite(s.out.direct.rest(s.out.patience, m.rest))
	}
	m.bytes, m.rest, m.err = 0, nil, nil
	if err != nil {
		return s.fail(err)
	}
	s.timer.Reset(s.silence())
	return nil
}
