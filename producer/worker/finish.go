package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/subjects"
)

// finish saves the turn and ends its run. Messages that came too late for this turn
// are the next one: that is sent before the run ends, so that none is lost.
func (j *job) finish(ctx context.Context, reason subjects.Reason) {
	j.passOn(ctx)
	ctx, span := tracing.Child(ctx, "end", tracing.Internal)
	defer span.End()
	o := producer.FinishOptions{Reason: reason, SaveTimeout: j.w.cfg.SaveTimeout}
	if j.w.cfg.Saver != nil {
		o.Save = func(ctx context.Context) error { return j.save(ctx, reason) }
	}
	end, err := j.run.Finish(ctx, o)
	switch {
	case errors.Is(err, producer.ErrFenced):
		j.span.Text("rejoin.reason", "lost")
		j.log.Info("the turn's run was ended by somebody else", "why", err)
		if f := j.w.cfg.Metrics.Lost; f != nil {
			f()
		}
		return
	case err != nil:
		j.log.Error("the turn's run has no end yet; it is tried again", "error", err)
	}
	j.ended(end, err)
	if f := j.w.cfg.Metrics.Done; f != nil {
		f(end.Reason, time.Since(j.began))
	}
}

// save hands the turn to the saver.
func (j *job) save(ctx context.Context, reason subjects.Reason) (err error) {
	ctx, span := tracing.Child(ctx, "save", tracing.Internal)
	defer span.End()
	defer func() {
		if err != nil {
			span.Fail("not saved")
		}
	}()
	events, _, err := j.run.Snapshot(ctx)
	if err != nil {
		return err
	}
	err = j.w.cfg.Saver.Save(ctx, &save.Turn{Realm: j.req.Realm, ChatID: j.req.ChatID, Owner: j.req.Owner,
		TurnID: j.req.TurnID, Kind: j.req.Kind, RunID: j.req.RunID, Generation: j.run.Generation(), Input: j.req.Input,
		Events: events, Reason: reason, StartedAt: j.began, EndedAt: time.Now()})
	if errors.Is(err, save.ErrStale) {
		return fmt.Errorf("%w: %w", producer.ErrSkipped, err)
	}
	return err
}

// passOn sends the messages that this turn has not answered as the chat's next one. They
// were accepted, so it tries for as long as the run's end may be tried.
func (j *job) passOn(ctx context.Context) {
	var left []json.RawMessage
	j.insist(ctx, "messages for the turn are looked for again", func(ctx context.Context) error {
		more, err := j.leftOver(ctx)
		left = append(left, more...)
		return err
	})
	if len(left) == 0 {
		return
	}
	r := turns.SendRequest{Realm: j.req.Realm, ChatID: j.req.ChatID, Owner: j.req.Owner,
		Kind: turns.KindSteer, Input: j.together(left), Header: j.req.Header, Trace: tracing.Of(ctx),
		ClientToken: "after " + string(j.req.RunID), OnActive: runs.Behind}
	j.insist(ctx, "messages for the turn are passed on again", func(ctx context.Context) error {
		sent, err := j.w.cfg.Turns.Send(ctx, r)
		switch {
		case errors.Is(err, turns.ErrOptions), errors.Is(err, turns.ErrQueueFull):
			j.log.Error("messages for the turn go unanswered", "messages", len(left), "error", err)
			return nil
		case err == nil:
			j.log.Info("messages that came too late for the turn are the next one", "messages", len(left), "next", sent.RunID)
		}
		return err
	})
}

// How long a step of passing messages on waits before it is tried again.
const (
	passRetry    = 50 * time.Millisecond
	passMaxRetry = time.Second
)

// insist tries a step until it succeeds or ctx is done.
func (j *job) insist(ctx context.Context, again string, step func(context.Context) error) {
	for wait := passRetry; ; wait = min(2*wait, passMaxRetry) {
		try, cancel := context.WithTimeout(ctx, closeTimeout)
		err := step(try)
		cancel()
		if err == nil {
			return
		}
		j.log.Warn(again, "error", err)
		select {
		case <-ctx.Done():
			j.log.Error("a message for the turn may go unanswered", "error", err)
			return
		case <-time.After(wait):
		}
	}
}

// together makes one input of several messages.
func (j *job) together(messages []json.RawMessage) json.RawMessage {
	input := messages[0]
	for i, m := range messages[1:] {
		merged, err := withMessage(input, m, string(j.req.RunID), i+1)
		if err != nil {
			j.log.Error("a message goes unanswered", "error", err)
			continue
		}
		input = merged
	}
	return input
}
