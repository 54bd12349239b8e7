package relay

import (
	"context"
	"errors"
	"io"

	"github.com/rejoin/rejoin/consumer"
)

// errNoBatch is for what a row cannot give out: its members read by themselves.
var errNoBatch = errors.New("not for a row")

// member is a stream that may sit in a row. While it does, its sink is lent to the row, and
// all of it is guarded by the row's lock; otherwise it belongs to the stream.
type member struct {
	audience *audience
	source   *lateReader
	sink     *sink

	row     *row
	at      int // in row.members
	sitting bool
	back    chan struct{} // it was given back; nil until it sits for the first time

	seq    uint64 // the last that the observer has
	frames int    // that the row has sent
	bytes  uint64
	rest   []byte         // that the socket has not taken yet
	frame  consumer.Frame // what comes next, where it was known
	err    error
}

func newMember(a *audience, l *lateReader, s *sink) *member {
	return &member{audience: a, source: l, sink: s}
}

// leave takes a member out of its row: when it returns, nobody else writes to its observer.
func (m *member) leave() {
	m.row.mu.Lock()
	defer m.row.mu.Unlock()
	if m.sitting {
		m.row.remove(m)
		return
	}
	select {
	case <-m.back:
	default:
	}
}

// sit waits in a row for as long as there is one for the stream. The error is why the stream
// has to stop, io.EOF where the run has ended; sat says that the stream has to poll again.
func (s *stream) sit(ctx context.Context) (sat bool, err error) {
	m := s.member
	if m == nil || !m.audience.many.Load() {
		return false, nil
	}
	if m.back == nil {
		m.back = make(chan struct{}, 1)
	}
	for seated := true; seated; {
		if m.seq, err = s.at, s.sink.lend(); err != nil {
			return sat, err
		}
		var why error
		if seated = m.audience.seat(m); seated {
			sat = true
			why = wait(ctx, s.leave, m.back)
			m.leave()
		}
		moved := m.seq > s.at || m.frame.Type != 0
		if err = s.takeBack(m); err == nil {
			err = why
		}
		if err != nil {
			return sat, err
		}
		seated = seated && moved // a row that has brought nothing will not do so again
	}
	if sat {
		m.source.moveTo(s.at)
	}
	return sat, nil
}

// takeBack makes the stream's own what has come of it in the row.
func (s *stream) takeBack(m *member) error {
	if s.frames == 0 && m.frames > 0 {
		s.first = s.at + 1
	}
	if m.frames > 0 {
		s.at, s.last = m.seq, m.seq
	}
	s.frames += m.frames
	s.frame = m.frame
	m.frames, m.frame = 0, consumer.Frame{}
	if err := s.sink.takeBack(m); err != nil || s.frame.Type == 0 {
		return err
	}
	end := s.frame.Type == consumer.End
	err := s.put()
	if err == nil {
		err = s.sink.flush()
	}
	if err == nil && end {
		err = io.EOF
	}
	return err
}
