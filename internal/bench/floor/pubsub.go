package floor

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// PubSub is bare NATS: one connection publishes, another one receives all of it.
type PubSub struct {
	out *nats.Conn
	sub *nats.Subscription
}

const floorSubject = "floor."

// NewPubSub subscribes on in, and publishes on out; a process that has one connection for
// both would measure less than two processes do. got is called for each message of a run,
// one at a time and in order; it must not keep the data.
func NewPubSub(out, in *nats.Conn, got func(run int, data []byte)) (*PubSub, error) {
	sub, err := in.Subscribe(floorSubject+"*", func(m *nats.Msg) {
		if run, err := strconv.Atoi(strings.TrimPrefix(m.Subject, floorSubject)); err == nil {
			got(run, m.Data)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	return &PubSub{out: out, sub: sub}, in.Flush()
}

// Publish sends a message of a run. It may be called from one goroutine.
func (p *PubSub) Publish(run int, data []byte) error {
	return p.out.Publish(floorSubject+strconv.Itoa(run), data)
}

// Flush returns once the broker has everything that was published.
func (p *PubSub) Flush() error { return p.out.Flush() }

// Close stops receiving.
func (p *PubSub) Close() error { return p.sub.Unsubscribe() }
