package probe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// tries is how often a producer's request is sent before it counts as failed: a relay
// that drains says 503, and another one takes its place.
const tries = 4

// again sends a request that may be repeated.
func (p *prober) again(ctx context.Context, send func() error) error {
	wait := 100 * time.Millisecond
	for n := 1; ; n++ {
		err := send()
		var status *statusError
		if err == nil || n == tries || ctx.Err() != nil || errors.As(err, &status) && status.status < 500 && status.status != http.StatusTooManyRequests {
			return err
		}
		pause := wait
		if status != nil {
			pause = max(pause, min(status.after, p.cfg.Patience))
		}
		if sleep(ctx, pause) != nil {
			return err
		}
		wait *= 2
		p.repeated++
	}
}

// start starts the run.
func (p *prober) start(ctx context.Context) error {
	body, err := json.Marshal(map[string]string{"chat_id": p.chat, "kind": "probe", "on_active": "reject", "client_token": rand.Text()})
	if err != nil {
		return err
	}
	var got struct {
		RunID  string `json:"run_id"`
		ChatID string `json:"chat_id"`
	}
	if err := p.again(ctx, func() error { return p.call(ctx, "/runs", jsonBody, body, http.StatusCreated, &got) }); err != nil {
		return err
	}
	if got.RunID == "" || len(got.RunID) > 256 {
		return fmt.Errorf("a run id of %d bytes: is a relay there?", len(got.RunID))
	}
	p.run = subjects.RunID(got.RunID)
	if got.ChatID != p.chat {
		return fmt.Errorf("a run in the chat %.80q", got.ChatID)
	}
	return nil
}

var jsonBody = http.Header{"Content-Type": {"application/json"}}

// publish publishes the events at the pace, each request with what is due by then, and
// says how long the slowest took.
func (p *prober) publish(ctx context.Context) (slowest time.Duration, err error) {
	from := time.Now()
	interval := time.Second / time.Duration(p.cfg.Rate)
	for next := uint64(1); next <= p.plan.n; {
		if err := sleep(ctx, time.Until(from.Add(time.Duration(next)*interval))); err != nil {
			return slowest, err
		}
		to := min(max(uint64(time.Since(from)/interval), next), p.plan.n)
		p.progress.sending(to)
		sent := time.Now()
		if err := p.again(ctx, func() error { return p.send(ctx, next, to) }); err != nil {
			return slowest, fmt.Errorf("events %d to %d: %w", next, to, err)
		}
		slowest = max(slowest, time.Since(sent))
		p.progress.store(to)
		next = to + 1
	}
	return slowest, nil
}

func (p *prober) send(ctx context.Context, from, to uint64) error {
	var got struct {
		Accepted uint64 `json:"accepted"`
		LastSeq  uint64 `json:"last_seq"`
	}
	header := http.Header{"Content-Type": {"application/x-ndjson"}, "Rejoin-First-Seq": {strconv.FormatUint(from, 10)}}
	if err := p.call(ctx, runPath(p.run)+"/events", header, p.plan.lines(from, to), http.StatusOK, &got); err != nil {
		return err
	}
	if got.LastSeq != to || got.Accepted > to-from+1 {
		return fmt.Errorf("accepted %d, last_seq %d, want last_seq %d", got.Accepted, got.LastSeq, to)
	}
	return nil
}

// end ends the run and gives the seq that the answer names.
func (p *prober) end(ctx context.Context, persisted bool, reason subjects.Reason) (uint64, error) {
	body, err := json.Marshal(map[string]any{"persisted": persisted, "reason": reason})
	if err != nil {
		return 0, err
	}
	var got struct {
		Seq uint64 `json:"seq"`
	}
	err = p.again(ctx, func() error { return p.call(ctx, runPath(p.run)+"/end", jsonBody, body, http.StatusOK, &got) })
	return got.Seq, err
}
