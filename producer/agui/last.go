package agui

import (
	"context"

	events "github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
)

// last keeps an answer's RUN_FINISHED back until it is certain to be the last event.
// Some agents send one after each of their steps and then go on: with that RUN_FINISHED
// published, the rest of their answer could not be.
type last struct {
	agent *Agent
	turn  agent.Turn
	watch *watch
	event []byte // nil for none
}

// hold keeps a RUN_FINISHED for as long as Config.Linger, or until the answer ends.
func (l *last) hold(event []byte) {
	l.event = event
	l.watch.linger(l.agent.cfg.Linger)
}

// publish publishes what is held.
func (l *last) publish(ctx context.Context) error {
	event := l.event
	l.event = nil
	return l.turn.Publish(ctx, event)
}

// before sees to what is held before an event is published. A RUN_STARTED begins anew
// behind it. What only adds to a finished answer passes it. Anything else shows that
// the answer was not finished, and the event becomes a RAW one, which ends nothing.
func (l *last) before(ctx context.Context, next events.Type) error {
	if l.event == nil || adds(next) {
		return nil
	}
	l.watch.limit(l.agent.cfg.IdleTimeout)
	if next != events.RunStarted {
		l.event = aside(l.event)
	}
	return l.publish(ctx)
}

// aside makes an event that cannot stand where it is a RAW one, which changes nothing.
func aside(event []byte) []byte {
	return append(append([]byte(`{"type":"RAW","event":`), event...), '}')
}

// adds says of which types an event is whole by itself.
func adds(t events.Type) bool {
	switch t {
	case events.Raw, events.Custom, events.StateSnapshot, events.StateDelta, events.MessagesSnapshot,
		events.ActivitySnapshot, events.ActivityDelta, "":
		return true
	}
	return false
}
