package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// ControlKind says what a control is.
type ControlKind string

// The kinds of control.
const (
	ControlStop   ControlKind = "stop"   // end the run
	ControlAnswer ControlKind = "answer" // the answer to a question, or that it is closed
	ControlInput  ControlKind = "input"  // a message for the running turn, or that none is taken any more
	ControlEnded  ControlKind = "ended"  // somebody else ended the run; told once, and never stored
)

// Control is what was sent to a run's producer. Of the controls that share a place (a
// run's stop, the answer to one question, its nth input) the first one wins.
type Control struct {
	Kind ControlKind `json:"kind"`
	// ID is the question's id, or the input's number from 1; "" for a stop.
	ID string `json:"id,omitempty"`
	// Body is the answer or the input; nil where Closed.
	Body json.RawMessage `json:"body,omitempty"`
	// Closed says that the place was taken by the fabric: the question has no answer,
	// or the run takes no more input.
	Closed bool `json:"closed,omitempty"`
	// Reason says why, for a stop or what is closed.
	Reason string `json:"reason,omitempty"`
	// Token is the client's, by which it repeats what it sent.
	Token string `json:"client_token,omitempty"`

	Seq  uint64    `json:"-"` // its stream sequence: the order of the run's controls
	Time time.Time `json:"-"` // the broker's clock
}

// Input is the number of an input, 0 for any other control.
func (c *Control) Input() int {
	if c.Kind != ControlInput {
		return 0
	}
	n, _ := strconv.Atoi(c.ID)
	return n
}

// key is the control's place: tokens for a subject. The error is subjects.Token's.
func (c *Control) key() (string, error) {
	if c.Kind == ControlStop {
		return string(ControlStop), nil
	}
	id, err := subjects.Token(c.ID)
	return string(c.Kind) + "." + id, err
}

// PutControl stores a control, unless its place is taken. It returns the control that
// has the place, and whether that is the one given. An unknown outcome is settled. It is
// ErrLogLost where the fabric has no stream for controls.
// The run need not have a producer yet.
func (s *Store) PutControl(ctx context.Context, id subjects.RunID, c Control) (winner Control, won bool, err error) {
	key, err := c.key()
	if err != nil {
		return c, false, err
	}
	value, err := encode(c)
	if err != nil {
		return c, false, err
	}
	subject, token, wait := subjects.ControlSubject(id, key), nuid.Next(), firstRetry
	for lost := 0; lost < lostAfter; {
		try, done := s.untilReconnect(ctx)
		seq, err := s.putKey(try, subject, value, 0, token)
		done()
		if err == nil {
			c.Seq = seq
			return c, true, nil
		}
		if hopeless(err) {
			return c, false, err
		}
		m, read := s.lastOf(ctx, subjects.ControlStream, subject)
		if read == nil {
			winner, err = parseControl(id, m)
			return winner, err == nil && m.header.Get(putHeader) == token, err
		}
		if errors.Is(read, ErrLogLost) { // a server that is coming up may say so too
			lost++
		}
		if !s.pause(ctx, &wait) {
			return c, false, fmt.Errorf("%s not known to be stored: %w (last: %w)", subject, ctx.Err(), err)
		}
	}
	return c, false, fmt.Errorf("%w: stream %s does not exist", ErrLogLost, subjects.ControlStream)
}

// controlRoom is what a control takes besides its body.
const controlRoom = 4 << 10

// MaxControlBody is the largest body of a control in bytes: it is one message.
func (s *Store) MaxControlBody() int {
	return int(s.nc.MaxPayload()) - subjects.HeaderRoom - controlRoom
}

// CloseInputs makes sure that no further message for a run is accepted. after is the
// number of the last one that the caller knows; those that came meanwhile are
// returned.
func (s *Store) CloseInputs(ctx context.Context, id subjects.RunID, after int) (missed []Control, err error) {
	for n := after + 1; ; n++ {
		c, _, err := s.PutControl(ctx, id, Control{Kind: ControlInput, ID: strconv.Itoa(n), Closed: true})
		if err != nil || c.Closed {
			return missed, err
		}
		missed = append(missed, c)
	}
}

// Control reads the control that has a place, at the leader; ErrNotFound where it is free.
func (s *Store) Control(ctx context.Context, id subjects.RunID, kind ControlKind, of string) (Control, error) {
	c := Control{Kind: kind, ID: of}
	key, err := c.key()
	if err != nil {
		return c, err
	}
	m, err := s.lastOf(ctx, subjects.ControlStream, subjects.ControlSubject(id, key))
	if err != nil {
		return c, err
	}
	return parseControl(id, m)
}

func parseControl(id subjects.RunID, m message) (Control, error) {
	var c Control
	if err := json.Unmarshal(m.data, &c); err != nil {
		return c, fmt.Errorf("control at %s: %w", m.subject, err)
	}
	c.Seq, c.Time = m.seq, m.time
	if key, err := c.key(); err != nil || key != subjects.ControlKeyOf(id, m.subject) {
		return c, fmt.Errorf("control at %s: it names another place", m.subject)
	}
	return c, nil
}

// Controls lists the controls of a run that are stored behind a stream sequence, in
// order. A replica may answer that lags.
func (s *Store) Controls(ctx context.Context, id subjects.RunID, after uint64) ([]Control, error) {
	var all []Control
	err := s.eachKeyFrom(ctx, subjects.ControlStream, subjects.ControlsSubject(id), after+1, func(m message) {
		if c, err := parseControl(id, m); err == nil {
			all = append(all, c)
		} else {
			s.log.Warn("a control cannot be read and is passed over", "run", id, "error", err)
		}
	})
	return all, err
}

// TellEnded lets the producer of a run know, if it listens, that somebody else ended
// the run: it would learn of it only with its next event.
func (s *Store) TellEnded(id subjects.RunID) {
	if err := s.nc.Publish(subjects.LiveControlSubject(id, string(ControlEnded)), nil); err != nil {
		s.log.Debug("a run's producer was not told that it has ended", "run", id, "error", err)
	}
}

// liveControl reads a control as the broker republishes it.
func liveControl(id subjects.RunID, m *nats.Msg) (Control, error) {
	if subjects.ControlKeyOf(id, m.Subject) == string(ControlEnded) {
		return Control{Kind: ControlEnded}, nil
	}
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return Control{}, errors.New("no stream sequence")
	}
	return parseControl(id, message{subject: m.Subject, seq: seq, data: m.Data, time: time.Now()})
}
