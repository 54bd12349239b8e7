package runs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/subjects"
)

// Change is what one run's entry or one chat's pointer has become.
type Change struct {
	Revision uint64
	// RunID is the run whose entry this is, "" for a pointer; Entry is nil where the
	// entry was deleted.
	RunID subjects.RunID
	Entry *Entry
	// ChatKey is the key of the pointer, "" for an entry; Pointer is nil where the pointer
	// was deleted.
	ChatKey string
	Pointer *Pointer
}

// Revision is the stream sequence at which the entry was read or stored.
func (e *Entry) Revision() uint64 { return e.revision }

// EachEntryAndPointer calls f with every run's entry, and then with every chat's pointer,
// deleted ones left out. Replicas may answer: what they show may be older than what a
// Listener has heard. What changes meanwhile may come twice but is never missed.
func (s *Store) EachEntryAndPointer(ctx context.Context, f func(Change)) error {
	for _, keys := range []string{subjects.RunKeysSubject, subjects.PointerKeysSubject} {
		err := s.eachKey(ctx, subjects.BucketStream, keys, func(m message) {
			if c, err := change(m); err != nil {
				s.log.Warn("a value of the bucket cannot be read and is passed over", "subject", m.subject, "error", err)
			} else {
				f(c)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func change(m message) (c Change, err error) {
	c.Revision = m.seq
	key := strings.TrimPrefix(m.subject, subjects.KeySubject(""))
	if strings.HasPrefix(key, "run.") {
		if c.RunID, err = subjects.RunOfSubject(key); err == nil && !m.deleted() {
			c.Entry, err = parseEntry(m)
		}
		return c, err
	}
	c.ChatKey = key
	if !m.deleted() {
		c.Pointer, err = parsePointer(m, key)
	}
	return c, err
}

// Listener hears the changes of entries and pointers as the broker republishes them, at
// most once: what it missed is for a read of all to find.
type Listener struct {
	subs   []*nats.Subscription
	heard  chan *nats.Msg
	missed atomic.Uint64
}

// Listen begins to listen to all entries and pointers. At most backlog changes wait to
// be taken; what comes beyond is missed. Close ends it.
func (s *Store) Listen(backlog int) (*Listener, error) {
	l := &Listener{heard: make(chan *nats.Msg, backlog)}
	for _, changes := range []string{subjects.RunChangesSubject, subjects.PointerChangesSubject} {
		// One channel for both, so that what the broker stored first comes first.
		sub, err := s.nc.ChanSubscribe(changes, l.heard)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("listening to %s: %w", changes, err)
		}
		l.subs = append(l.subs, sub)
	}
	return l, nil
}

// Next blocks until there is a change; the error is ctx's. It is for one goroutine.
func (l *Listener) Next(ctx context.Context) (Change, error) {
	for {
		select {
		case <-ctx.Done():
			return Change{}, ctx.Err()
		case m := <-l.heard:
			if c, err := heard(m); err == nil {
				return c, nil
			}
			l.missed.Add(1)
		}
	}
}

func heard(m *nats.Msg) (Change, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return Change{}, fmt.Errorf("a change without a stream sequence: %w", err)
	}
	return change(message{subject: m.Header.Get("Nats-Subject"), seq: seq, header: m.Header, data: m.Data})
}

// Missed is how many changes are known to be missed so far.
func (l *Listener) Missed() uint64 {
	n := l.missed.Load()
	for _, sub := range l.subs {
		dropped, _ := sub.Dropped()
		n += uint64(max(dropped, 0))
	}
	return n
}

// Close ends the listening.
func (l *Listener) Close() {
	for _, sub := range l.subs {
		_ = sub.Unsubscribe()
	}
}
