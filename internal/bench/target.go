package bench

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/report"
)

// target is what is put to work: the fabric, or the bare SSE server beside it.
type target struct {
	system string // as report has it
	addr   string // host:port
	bare   bool
	server string // the process that serves observers, as Use has it
}

// fabric is the relay with the broker behind it.
func (e *Env) fabric() target {
	return target{system: report.Rejoin, addr: e.Relay, server: Relay}
}

// floorTarget is the bare SSE server.
func (e *Env) floorTarget(ctx context.Context) (target, error) {
	addr, err := e.Floor(ctx)
	return target{system: report.BareSSE, addr: addr, bare: true, server: Floor}, err
}

// place is one run of a target: a run of a chat, or a topic.
type place struct {
	chat, run string
}

// place names the ith run; a run of the fabric gets its id when it is made.
func (t target) place(name string, i int) place {
	p := place{chat: fmt.Sprintf("%s-%d", name, i)}
	if t.bare {
		p.run = p.chat
	}
	return p
}

// events is where its events are posted.
func (t target) events(p place) string {
	if t.bare {
		return topicPath(p.run)
	}
	return client.EventsPath(p.run)
}

// watch is where it is watched: by whoever holds nothing, or everything up to a cursor.
// The fabric's cursor is the seq, the topic's the number of its events.
func (t target) watch(p place, cursor uint64) string {
	switch {
	case t.bare:
		return fmt.Sprintf("%s?from=%d", topicPath(p.run), cursor)
	case cursor > 0:
		return client.CursorPath(p.chat, p.run, cursor)
	}
	return client.LivePath(p.chat, p.run)
}
