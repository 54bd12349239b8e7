package demo

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// DefaultChat is the chat that the demo speaks in.
const DefaultChat = "demo"

// Config of a Loop. Zero values mean the defaults.
type Config struct {
	Chat      string        // "" means DefaultChat
	Rate      int           // events a second; 0 means 20
	Sentences int           // length of an answer; 0 means DefaultSentences
	Pause     time.Duration // between an end and the next run; 0 means 10 s
	Stop      time.Duration // how long the end of a turn is waited for; 0 means 5 s
	Logger    *slog.Logger  // may be nil
}

func (c Config) withDefaults() Config {
	c.Chat = cmp.Or(c.Chat, DefaultChat)
	c.Rate = cmp.Or(c.Rate, 20)
	c.Sentences = cmp.Or(c.Sentences, DefaultSentences)
	c.Pause = cmp.Or(c.Pause, 10*time.Second)
	c.Stop = cmp.Or(c.Stop, 5*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Loop produces one turn after the other until ctx is done; the turn then under way
// ends as stopped. A turn that cannot be produced is given up and the next one begun
// after the pause. It blocks.
func Loop(ctx context.Context, p *producer.Producer, cfg Config) {
	cfg = cfg.withDefaults()
	for n := 1; ; n++ {
		if err := play(ctx, p, cfg, n); err != nil && ctx.Err() == nil {
			cfg.Logger.Warn("the demo's turn did not reach its end; the next one follows", "turn", n, "error", err)
		}
		if !sleep(ctx, cfg.Pause) {
			return
		}
	}
}

// play produces turn n. A run whose end could not be stored in time is left to the
// Producer, which tries again until it is closed.
func play(ctx context.Context, p *producer.Producer, cfg Config, n int) error {
	r, err := p.Start(ctx, producer.StartOptions{ChatID: cfg.Chat, Kind: "demo"})
	if err != nil {
		return err
	}
	// There is nothing to save, so a turn that is complete counts as saved.
	end := producer.FinishOptions{Persisted: true}
	err = publish(ctx, r, cfg, n)
	switch {
	case ctx.Err() != nil:
		end = producer.FinishOptions{Reason: subjects.ReasonStopped}
	case err != nil:
		return errors.Join(err, r.Close())
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Stop)
	defer cancel()
	_, ended := r.Finish(finish, end)
	if ended != nil && ctx.Err() == nil {
		ended = errors.Join(ended, r.Close())
	}
	return errors.Join(err, ended)
}

func publish(ctx context.Context, r *producer.Run, cfg Config, n int) error {
	due := time.NewTicker(time.Second / time.Duration(cfg.Rate))
	defer due.Stop()
	for event := range Script(cfg.Chat, n, cfg.Sentences) {
		if _, err := r.Publish(ctx, event); err != nil {
			return err
		}
		select {
		case <-due.C:
		case <-r.Done():
			return r.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// sleep waits; false says that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
