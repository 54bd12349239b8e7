package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// ErrTooLarge: what is to be kept is larger than it may be.
var ErrTooLarge = errors.New("too large to be kept")

// Memory reads what an agent keeps of a chat, at the leader; nil where it keeps nothing.
func (s *Store) Memory(ctx context.Context, realm subjects.Realm, chat string) ([]byte, error) {
	key, err := subjects.MemoryKey(realm, chat)
	if err != nil {
		return nil, err
	}
	m, err := s.value(ctx, subjects.KeySubject(key))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return m.data, err
}

// SetMemory keeps something of a chat for subjects.MemoryTTL, in place of what was kept. A
// chat has one turn at a time, so the last one wins. The error is ErrTooLarge, or
// what kept the broker from answering; then it may be kept or not.
func (s *Store) SetMemory(ctx context.Context, realm subjects.Realm, chat string, value []byte) error {
	if len(value) > subjects.MaxMemory {
		return fmt.Errorf("%w: %d bytes; allowed are %d", ErrTooLarge, len(value), subjects.MaxMemory)
	}
	key, err := subjects.MemoryKey(realm, chat)
	if err != nil {
		return err
	}
	_, err = s.put(ctx, &nats.Msg{Subject: subjects.KeySubject(key), Data: value,
		Header: nats.Header{jetstream.MsgTTLHeader: {subjects.MemoryTTL.String()}}}, nil)
	return err
}
