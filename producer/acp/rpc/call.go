package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// response hands a response to the call that waits for it.
func (p *Peer) response(m *message) {
	var done func(json.RawMessage, error)
	id, err := strconv.ParseUint(strings.Trim(string(m.ID), `"`), 10, 64)
	if err == nil {
		done = p.forget(id)
	}
	if done == nil {
		p.unknown.Add(1)
		return
	}
	if e := m.failed(); e != nil {
		done(nil, e)
		return
	}
	done(m.Result, nil)
}

// forget takes a call off the list of those that wait.
func (p *Peer) forget(id uint64) func(json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.calls[id]
	delete(p.calls, id)
	return done
}

// Go calls a method of the other side. done is called once with the response, in order
// with everything else that arrives, or with the peer's error when that is over first.
// It must not block. When Go returns an error, done is not called.
func (p *Peer) Go(ctx context.Context, method string, params any, done func(result json.RawMessage, err error)) error {
	_, err := p.begin(ctx, method, params, done)
	return err
}

func (p *Peer) begin(ctx context.Context, method string, params any, done func(json.RawMessage, error)) (uint64, error) {
	m := &message{Method: method}
	var err error
	if m.Params, err = raw(params); err != nil {
		return 0, fmt.Errorf("encode %s: %w", method, err)
	}
	p.mu.Lock()
	if p.calls == nil {
		p.mu.Unlock()
		return 0, p.Err()
	}
	p.last++
	id := p.last
	p.calls[id] = done
	p.mu.Unlock()

	m.ID = strconv.AppendUint(nil, id, 10)
	if err := p.send(ctx, m); err != nil {
		if p.forget(id) == nil {
			return id, nil // done was called: the peer is over
		}
		return 0, err
	}
	return id, nil
}

// Call calls a method of the other side and waits for its response. The error is a
// *Error if the other side gave one, the cause of ctx, or why the peer is over.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	var err error
	answered := make(chan struct{})
	id, failed := p.begin(ctx, method, params, func(r json.RawMessage, e error) {
		result, err = r, e
		close(answered)
	})
	if failed != nil {
		return nil, failed
	}
	select {
	case <-answered:
	case <-ctx.Done():
		if p.forget(id) != nil {
			return nil, context.Cause(ctx)
		}
		<-answered
	}
	return result, err
}

// Notify sends a notification.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	b, err := raw(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	return p.send(ctx, &message{Method: method, Params: b})
}
