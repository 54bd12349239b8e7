package producer

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// OnActive says what Start does about a run of the chat that is active.
type OnActive string

// What Start may do.
const (
	Supersede OnActive = "supersede" // the newer run takes the chat; the default
	Reject    OnActive = "reject"    // the active run goes on and Start fails
)

// Limits of what StartOptions carry, in bytes.
const (
	MaxClientToken = 128
	MaxKind        = 64
)

// StartOptions name the run to start.
type StartOptions struct {
	Tenant string // at most subjects.MaxOutside bytes; "" is a tenant too
	ChatID string // required; see subjects.CheckChatID
	Owner  string // at most subjects.MaxOutside bytes; "" for none
	Kind   string // at most MaxKind bytes; "" means send
	// OnActive is what to do about an active run; "" means Supersede.
	OnActive OnActive
	// ClientToken makes a repeated start fail with the first one's run; at most
	// MaxClientToken bytes, "" for none.
	ClientToken string
}

func (o *StartOptions) check() error {
	if err := subjects.CheckChatID(o.ChatID); err != nil {
		return fmt.Errorf("%w: chat_id is %w; allowed are 1 to %d bytes of valid UTF-8", ErrOptions, err, subjects.MaxOutside)
	}
	for _, f := range []struct {
		name, value string
		limit       int
	}{
		{"tenant", o.Tenant, subjects.MaxOutside},
		{"owner", o.Owner, subjects.MaxOutside},
		{"kind", o.Kind, MaxKind},
		{"client_token", o.ClientToken, MaxClientToken},
	} {
		if len(f.value) > f.limit || !utf8.ValidString(f.value) {
			return fmt.Errorf("%w: %s has %d bytes; allowed are up to %d bytes of valid UTF-8",
				ErrOptions, f.name, len(f.value), f.limit)
		}
	}
	switch o.OnActive {
	case "":
		o.OnActive = Supersede
	case Supersede, Reject:
	default:
		return fmt.Errorf("%w: on_active is %.40q; allowed are supersede and reject", ErrOptions, o.OnActive)
	}
	return nil
}

// Start starts a run and makes it its chat's newest. It returns once the chat's
// pointer names it, and the run before it has its end or soon will.
//
// The error is *AlreadyStreamingError or *AlreadyStartedError when there was no need
// to start, ErrOptions when the options are not allowed, ErrClosed after Close. A
// run that was not started leaves nothing behind.
func (p *Producer) Start(ctx context.Context, o StartOptions) (*Run, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if p.isClosed() {
		return nil, ErrClosed
	}
	var r *Run // claimed, and not the chat's yet
	for {
		pointer, err := p.store.Pointer(ctx, o.Tenant, o.ChatID)
		if err == nil {
			err = p.admit(ctx, &o, pointer)
		}
		if err == nil {
			r, err = p.claim(ctx, &o, r, pointer.Generation+1)
		}
		if err != nil {
			p.discard(r)
			return nil, err
		}
		older := pointer.RunID
		pointer.Advance(r.id, r.generation, o.ClientToken)
		err = p.store.SetPointer(ctx, pointer)
		switch {
		case err == nil:
			p.supersede(ctx, older, r.id)
			if err := p.begin(r); err != nil {
				return nil, err
			}
			return r, nil
		case !errors.Is(err, runs.ErrConflict):
			p.abandon(r) // the pointer may name it
			return nil, err
		case ctx.Err() != nil:
			p.discard(r)
			return nil, ctx.Err()
		}
	}
}

// admit says whether a run may start in the chat.
func (p *Producer) admit(ctx context.Context, o *StartOptions, pointer *runs.Pointer) error {
	if id, ok := pointer.Started(o.ClientToken); ok {
		return &AlreadyStartedError{RunID: id}
	}
	if o.OnActive == Supersede || pointer.RunID == "" {
		return nil
	}
	active, err := p.active(ctx, pointer.RunID)
	if err == nil && active {
		err = &AlreadyStreamingError{RunID: pointer.RunID}
	}
	return err
}

// active says whether a run has no end, in its entry or in its log, which is the
// first to have it.
func (p *Producer) active(ctx context.Context, id subjects.RunID) (bool, error) {
	e, err := p.store.Entry(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !e.Active() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last, err := p.store.Last(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && last.Kind != subjects.KindEnd, err
}

// claim makes the run's first record and its entry. A run that was claimed before
// only gets its new place in the chat.
func (p *Producer) claim(ctx context.Context, o *StartOptions, r *Run, generation uint64) (*Run, error) {
	if r != nil {
		e, err := p.store.ChangeEntry(ctx, r.id, func(e *runs.Entry) error {
			if err := r.owns(e); err != nil {
				return err // a janitor took the run for one that was replaced
			}
			e.Generation = generation
			return nil
		})
		if err == nil {
			r.entry, r.generation = e, generation
			return r, nil
		}
		if !errors.Is(err, ErrEnded) {
			return r, err
		}
		p.discard(r)
	}
	e := &runs.Entry{RunID: p.store.NewRunID(), Tenant: o.Tenant, ChatID: o.ChatID, Owner: o.Owner, Kind: o.Kind,
		Generation: generation, State: runs.StateRunning, Producer: p.lease.ID(), Writer: nuid.Next(),
		StartedAt: time.Now().UTC()}
	first := subjects.Record{Kind: subjects.KindStart, Writer: e.Writer}
	seq, err := p.store.Append(ctx, e.RunID, &first, 0)
	e.FirstStreamSeq, e.ClaimStreamSeq = seq, seq
	r = p.newRun(e, seq)
	if err == nil {
		err = p.store.CreateEntry(ctx, e)
	}
	return r, err
}

// begin starts the run's writer.
func (p *Producer) begin(r *Run) error {
	if err := p.add(r); err != nil {
		p.abandon(r)
		return err
	}
	p.log.Info("run started", "run", r.id, "generation", r.generation)
	if f := p.cfg.Metrics.Started; f != nil {
		f()
	}
	return nil
}

// undoTimeout bounds what has to be done for the sake of others after a start.
const undoTimeout = 5 * time.Second

// supersede ends the run that the chat's pointer named before. If it cannot, the older run's
// own Finish or a janitor does: the pointer tells them.
func (p *Producer) supersede(ctx context.Context, older, newer subjects.RunID) {
	if older == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	end := subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: newer}
	ended, err := p.store.EndRun(ctx, older, end)
	switch {
	case err == nil:
		p.tell(older, &ended)
	case !errors.Is(err, ErrNotFound):
		p.log.Warn("the older run is not ended yet", "run", older, "next", newer, "error", err)
	}
}

// tell lets a run of this process know at once that it has ended: it would learn of it
// only with its next event.
func (p *Producer) tell(id subjects.RunID, ended *EndedError) {
	p.mu.Lock()
	var lost []*Run
	for r := range p.runs {
		if r.id == id {
			lost = append(lost, r)
		}
	}
	p.mu.Unlock()
	for _, r := range lost {
		r.fail(ended)
	}
}

// discard removes a run that no pointer names, now or later. A nil run is none.
func (p *Producer) discard(r *Run) {
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, undoTimeout)
	defer cancel()
	if err := p.store.Discard(ctx, r.id); err != nil {
		p.log.Warn("a run that was not needed is not removed yet", "run", r.id, "error", err)
		r.unwanted = true
		p.abandon(r)
		return
	}
	r.stop()
}

// abandon ends a run whose writer never began, now or later.
func (p *Producer) abandon(r *Run) {
	close(r.written)
	r.fail(ErrClosed)
	p.endLater(r, subjects.End{Reason: subjects.ReasonAbandoned})
	p.poke()
}
