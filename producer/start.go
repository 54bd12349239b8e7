package producer

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/subjects"
)

// OnActive says what Start does about a run of the chat that is active.
type OnActive = runs.OnActive

// What Start may do.
const (
	Supersede = runs.Supersede // the newer run takes the chat; the default
	Reject    = runs.Reject    // the active run goes on and Start fails
)

// Limits of what StartOptions carry, in bytes.
const (
	MaxClientToken = 128
	MaxKind        = 64
)

// StartOptions name the run to start.
type StartOptions struct {
	Realm  subjects.Realm // whose chat it is; "" where relays authenticate nobody, see subjects.NewRealm
	ChatID string         // required; see subjects.CheckChatID
	Owner  string         // at most subjects.MaxOutside bytes; "" for none
	Kind   string         // at most MaxKind bytes; "" means send
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
	if _, err := subjects.ParseRealm(string(o.Realm)); err != nil {
		return fmt.Errorf("%w: realm is %.40q; allowed are those that subjects.NewRealm gives", ErrOptions, o.Realm)
	}
	for _, f := range []struct {
		name, value string
		limit       int
	}{
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
//
// Where ctx is in a trace, as OpenTelemetry has it, the run's start record says so.
func (p *Producer) Start(ctx context.Context, o StartOptions) (*Run, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if p.isClosed() {
		return nil, ErrClosed
	}
	started, err := p.store.StartRun(ctx, runs.StartRequest{
		Entry: runs.Entry{Realm: o.Realm, ChatID: o.ChatID, Owner: o.Owner, Kind: o.Kind,
			State: runs.StateRunning, Producer: p.lease.ID(), Trace: tracing.Of(ctx)},
		OnActive: o.OnActive, ClientToken: o.ClientToken})
	var left *runs.LeftoverError
	if errors.As(err, &left) {
		r := p.newRun(left.Entry, left.Entry.FirstStreamSeq)
		r.unwanted = !left.Named
		p.abandon(r)
		return nil, left.Err
	}
	if err != nil {
		return nil, err
	}
	if started.Ended != nil {
		p.tell(started.Older, started.Ended)
	}
	r := p.newRun(started.Entry, started.FirstStreamSeq)
	if err := p.begin(r); err != nil {
		return nil, err
	}
	p.log.Info("run started", "run", r.id, "generation", r.generation)
	return r, nil
}

// Begin begins the run of a turn that a worker has claimed. Of all who try one
// succeeds, and never twice: the error is ErrBegun for the others, also when the one
// that succeeded has died since; such a run ends as abandoned. It is *EndedError where
// the run was stopped or replaced before, ErrBegun where somebody is just doing that, ErrNotFound, ErrClosed after Close, or
// what kept the broker from answering; an unknown outcome is settled first, or, once ctx
// is done, in the background, and the turn is given back.
//
// steerable says that messages may be sent to the run while it answers.
func (p *Producer) Begin(ctx context.Context, id subjects.RunID, steerable bool) (*Run, error) {
	if p.isClosed() {
		return nil, ErrClosed
	}
	tried, now := false, time.Now().UTC()
	e, err := p.store.ChangeEntry(ctx, id, func(e *runs.Entry) error {
		switch {
		case e.End != nil:
			return &EndedError{End: *e.End, Seq: e.Seq}
		case e.State != runs.StateQueued:
			return ErrBegun
		}
		// The writer stays the one that made the run: whoever gets here is the only one.
		e.State, e.Producer, e.Steerable, e.StartedAt = runs.StateRunning, p.lease.ID(), steerable, now
		tried = true
		return nil
	})
	if err != nil {
		if tried && !errors.Is(err, ErrBegun) && !definite(err) {
			p.giveBack(id, now)
		}
		return nil, err
	}
	// Whoever stops or replaces a run stores its end first and changes its entry then.
	if last, err := p.store.Last(ctx, id); err == nil && last.End() != nil {
		ended := &EndedError{End: *last.End(), Seq: last.Last}
		_, err := p.store.Seal(ctx, id, ended.End, ended.Seq)
		return nil, errors.Join(ended, err)
	}
	r := p.newRun(e, e.FirstStreamSeq)
	if err := p.begin(r); err != nil {
		return nil, err
	}
	p.log.Info("run begun", "run", r.id, "kind", e.Kind)
	return r, nil
}

// begin makes the run one that is written.
func (p *Producer) begin(r *Run) error {
	if err := p.add(r); err != nil {
		p.abandon(r)
		return err
	}
	if f := p.cfg.Metrics.Started; f != nil {
		f()
	}
	return nil
}

// undoTimeout bounds what has to be done for the sake of others when a run is given up.
const undoTimeout = 5 * time.Second

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

// abandon ends a run that was never written, now or later.
func (p *Producer) abandon(r *Run) {
	r.neverWrites()
	r.fail(ErrClosed)
	p.endLater(r, subjects.End{Reason: subjects.ReasonAbandoned})
	p.poke()
}
