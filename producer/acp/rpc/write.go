package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const (
	// queued is how many messages may wait to be written.
	queued = 32
	// writeSize is how much must be taken within Config.WriteTimeout: less than a
	// pipe holds, so that a slow reader is not taken for one that has stopped.
	writeSize = 32 << 10
)

// send queues one message. It blocks while the queue is full.
func (p *Peer) send(ctx context.Context, m *message) error {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case <-p.done:
		return p.Err()
	default:
	}
	select {
	case p.out <- append(line, '\n'):
		return nil
	case <-p.done:
		return p.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write writes what is queued until the peer is over.
func (p *Peer) write() {
	for {
		select {
		case line := <-p.out:
			p.writeLine(line)
		case <-p.done:
			return
		}
	}
}

// writeLine writes a line in parts. A write that takes too long ends the peer, which
// closes the pipe, which ends the write.
func (p *Peer) writeLine(line []byte) {
	for len(line) > 0 {
		n := min(len(line), writeSize)
		stalled := time.AfterFunc(p.cfg.WriteTimeout, func() {
			p.Fail(fmt.Errorf("%w: nothing was taken for %s", ErrStalled, p.cfg.WriteTimeout))
		})
		_, err := p.w.Write(line[:n])
		stalled.Stop()
		if err != nil {
			p.Fail(fmt.Errorf("%w: %w", ErrRefused, err))
			return
		}
		line = line[n:]
	}
}

// raw encodes params or a result. nil gives an empty object, which every method takes.
func raw(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return json.RawMessage(`{}`), nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}
