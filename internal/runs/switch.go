package runs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// Switch is the value of one key of a kill switch, as it is stored. What it says is for
// package killswitch.
type Switch struct {
	Key      string
	Value    []byte // nil where the key was deleted
	Revision uint64 // grows with every change of the key
}

// maxSwitches is how many keys the broker gives at once.
const maxSwitches = 1024

// Switches reads all switches with one question. A replica that lags may answer it: what
// has a lower revision than is known is older.
func (s *Store) Switches(ctx context.Context) ([]Switch, error) {
	ask := directGet{Multi: []string{subjects.SwitchKeysSubject}, Batch: maxSwitches}
	messages, more, err := s.direct(ctx, subjects.BucketStream, ask)
	if err == nil && more {
		err = fmt.Errorf("there are more than %d", maxSwitches)
	}
	if err != nil {
		return nil, fmt.Errorf("switches: %w", err)
	}
	all := make([]Switch, 0, len(messages))
	for _, m := range messages {
		if sw, ok := switchOf(m); ok {
			all = append(all, sw)
		}
	}
	return all, nil
}

// Switch reads one at the leader; ErrNotFound where there is none.
func (s *Store) Switch(ctx context.Context, key string) (Switch, error) {
	m, err := s.value(ctx, subjects.KeySubject(key))
	return Switch{Key: key, Value: m.data, Revision: m.seq}, err
}

// ChangeSwitch reads a switch at the leader, nil where there is none, applies change and
// stores what that returns for the time that it says, 0 meaning for good; again and again until
// nobody came in between. change returning an error ends it with that error, and a user
// who may not set switches gets ErrForbidden at once.
func (s *Store) ChangeSwitch(ctx context.Context, key string, change func(old []byte) ([]byte, time.Duration, error)) error {
	wait, token := firstRetry, ""
	for {
		var m message
		err := s.allowed(ctx, s.api+"STREAM.MSG.GET."+subjects.BucketStream, func(ctx context.Context) (err error) {
			m, err = s.lastOf(ctx, subjects.BucketStream, subjects.KeySubject(key))
			return err
		})
		switch {
		case err == nil && token != "" && m.header.Get(putHeader) == token:
			return nil // the attempt whose answer was lost
		case err == nil && m.deleted():
			m.data = nil
		case errors.Is(err, ErrNotFound):
			err = nil
		}
		if err == nil {
			token = nuid.Next()
			err = s.putSwitch(ctx, key, token, m, change)
		}
		var refused *refusedChange
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused):
			return refused.err
		case hopeless(err), errors.Is(err, ErrForbidden):
			return err
		case !s.pause(ctx, &wait):
			return fmt.Errorf("%s not known to be stored: %w (last: %w)", key, ctx.Err(), err)
		}
	}
}

// refusedChange is what change has returned.
type refusedChange struct{ err error }

func (r *refusedChange) Error() string { return r.err.Error() }

func (s *Store) putSwitch(ctx context.Context, key, token string, old message, change func([]byte) ([]byte, time.Duration, error)) error {
	value, ttl, err := change(old.data)
	if err != nil {
		return &refusedChange{err}
	}
	m := &nats.Msg{Subject: subjects.KeySubject(key), Data: value, Header: nats.Header{putHeader: {token}}}
	if ttl > 0 {
		m.Header.Set(jetstream.MsgTTLHeader, ttl.String())
	}
	return s.allowed(ctx, m.Subject, func(ctx context.Context) error {
		_, err := s.put(ctx, m, &old.seq)
		return err
	})
}

// WatchSwitches calls f for every change of a switch, from the connection's own
// goroutine: f must not block. A change is told at most once and may be missed: read
// them after it returns, after a reconnect, and now and then. stop ends it.
func (s *Store) WatchSwitches(f func(Switch)) (stop func(), err error) {
	sub, err := s.nc.Subscribe(subjects.SwitchChangesSubject, func(m *nats.Msg) {
		seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
		if err != nil {
			return
		}
		if sw, ok := switchOf(message{subject: m.Subject, seq: seq, header: m.Header, data: m.Data}); ok {
			f(sw)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("watching the switches: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

func switchOf(m message) (Switch, bool) {
	key, ok := subjects.KeyOfSubject(m.subject)
	if m.deleted() {
		return Switch{Key: key, Revision: m.seq}, ok
	}
	return Switch{Key: key, Value: m.data, Revision: m.seq}, ok
}
