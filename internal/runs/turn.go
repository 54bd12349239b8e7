package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// turnHead is the first line of a stored turn.
type turnHead struct {
	Parts int `json:"parts"` // values that the turn is spread over
}

// PutTurn stores what a run's turn asks, in several values when it is larger than one
// message. The head is stored last, so a turn that can be seen is whole.
func (s *Store) PutTurn(ctx context.Context, id subjects.RunID, body []byte) error {
	limit := int(s.nc.MaxPayload()) - subjects.HeaderRoom - segmentHeadRoom
	parts := 1
	for rest := body; len(rest) > limit; parts++ {
		rest = rest[limit:]
		key := subjects.TurnKey(id) + "." + strconv.Itoa(parts)
		if _, err := s.put(ctx, &nats.Msg{Subject: subjects.KeySubject(key), Data: rest[:min(limit, len(rest))]}, nil); err != nil {
			return err
		}
	}
	head, err := json.Marshal(turnHead{Parts: parts})
	if err != nil {
		return err
	}
	value := append(append(head, '\n'), body[:min(limit, len(body))]...)
	_, err = s.settleKey(ctx, subjects.KeySubject(subjects.TurnKey(id)), value, 0)
	return err
}

// Turn reads what a run's turn asks, at the leader; ErrNotFound for a run that was not
// started by a turn.
func (s *Store) Turn(ctx context.Context, id subjects.RunID) ([]byte, error) {
	m, err := s.value(ctx, subjects.KeySubject(subjects.TurnKey(id)))
	if err != nil {
		return nil, err
	}
	head, body, err := parseTurn(m.data)
	if err != nil {
		return nil, fmt.Errorf("turn of run %s: %w", id, err)
	}
	for i := 1; i < head.Parts; i++ {
		part, err := s.value(ctx, subjects.KeySubject(subjects.TurnKey(id)+"."+strconv.Itoa(i)))
		if err != nil {
			return nil, fmt.Errorf("part %d of the turn of run %s: %w", i, id, err)
		}
		body = append(body, part.data...)
	}
	return body, nil
}

func parseTurn(value []byte) (head turnHead, body []byte, err error) {
	for i, c := range value {
		if c == '\n' {
			return head, value[i+1 : len(value) : len(value)], json.Unmarshal(value[:i], &head)
		}
	}
	return head, nil, errors.New("no head line")
}

// QueuedTurn is what a worker finds in the queue.
type QueuedTurn struct {
	RunID subjects.RunID `json:"run_id"`
}

// codeQueued is the broker's word for a turn that is in the queue already.
const codeQueued = 10077

// Enqueue puts a run's turn into the work queue. One that is there already stays
// as it is, so it may be called again at any time until the run has begun; and after
// that too: whoever claims the turn then finds that there is nothing to do.
func (s *Store) Enqueue(ctx context.Context, e *Entry) error {
	_, err := s.enqueue(ctx, e)
	return err
}

// enqueue is Enqueue that says whether the turn was missing.
func (s *Store) enqueue(ctx context.Context, e *Entry) (missing bool, err error) {
	subject, err := subjects.TurnSubject(e.Kind, e.RunID)
	if err != nil {
		return false, err
	}
	body, err := json.Marshal(QueuedTurn{RunID: e.RunID})
	if err != nil {
		return false, err
	}
	wait := firstRetry
	for {
		try, done := s.untilReconnect(ctx)
		m := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{}}
		e.Trace.Set(m.Header)
		_, err := s.put(try, m, nil)
		done()
		var api *jetstream.APIError
		if err == nil || errors.As(err, &api) && api.ErrorCode == codeQueued {
			return err == nil, nil
		}
		if hopeless(err) || !s.pause(ctx, &wait) {
			return false, err
		}
	}
}
