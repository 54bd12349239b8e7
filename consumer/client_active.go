package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// ActiveRun is one of the caller's runs as GET /runs/active tells of it.
type ActiveRun struct {
	RunID     subjects.RunID `json:"run_id"`
	ChatID    string         `json:"chat_id"`
	Kind      string         `json:"kind"`
	State     string         `json:"state"` // queued, running, waiting, finishing or ended
	StartedAt time.Time      `json:"started_at"`
	// End is nil unless State is ended, and where a run was taken back before it began.
	*subjects.End
}

// ActiveUpdate is either what is live now, which replaces all that was known, or one run
// whose state has changed.
type ActiveUpdate struct {
	Run       *ActiveRun  `json:"-"`         // the run that has changed; nil for what is live now
	Runs      []ActiveRun `json:"runs"`      // the newest first
	Truncated bool        `json:"truncated"` // there are more than Runs holds
}

// Active follows which of the caller's runs are live: first all of them, then each change, and
// all of them again whenever the stream had to be opened anew. It goes on until ctx is done,
// the loop is left, or nothing can be had any more, which it says by a last pair whose error is not nil:
// ErrInterrupted after MaxAttempts fruitless attempts, an *HTTPError that is final, or ctx's.
func (c *Client) Active(ctx context.Context) iter.Seq2[ActiveUpdate, error] {
	return func(yield func(ActiveUpdate, error) bool) {
		client, err := c.settle()
		if err != nil {
			yield(ActiveUpdate{}, err)
			return
		}
		calls, fruitless := caller{client: client}, 0
		for {
			conn, left, err := calls.follow(ctx, yield)
			switch {
			case left:
				return
			case ctx.Err() != nil:
				err = ctx.Err()
			case !final(err):
				if fruitless++; conn != nil && conn.good() {
					fruitless = 0
				}
				if fruitless < client.MaxAttempts {
					client.Logger.Info("feed broke, coming back", "fruitless", fruitless, "error", err)
					if sleep(ctx, asked(conn, err)+client.Backoff.Delay(fruitless)) {
						continue
					}
					err = ctx.Err()
				} else {
					err = fmt.Errorf("%w after %d attempts without progress: %w", ErrInterrupted, fruitless, err)
				}
			}
			yield(ActiveUpdate{}, err)
			return
		}
	}
}

// follow opens the feed once and hands on what comes. left says that nobody wants more.
func (c *caller) follow(ctx context.Context, yield func(ActiveUpdate, error) bool) (_ *conn, left bool, err error) {
	conn, err := c.open(ctx, ctx, http.MethodGet, "/runs/active", nil, nil, 0)
	if err != nil {
		return nil, false, err
	}
	defer conn.close()
	for {
		m, err := conn.dec.Next()
		if errors.Is(err, io.EOF) {
			return conn, false, io.ErrUnexpectedEOF // it has no end of its own
		}
		if err != nil {
			return conn, false, cause(conn.ctx, err)
		}
		u, err := parseUpdate(m)
		if err != nil {
			return conn, false, err
		}
		if u == nil {
			continue
		}
		conn.fruitful = true
		if !yield(*u, nil) {
			return conn, true, nil
		}
	}
}

// parseUpdate is nil for a message of a kind that is not known.
func parseUpdate(m Message) (*ActiveUpdate, error) {
	var u ActiveUpdate
	var into any
	switch m.Event {
	case "snapshot":
		into = &u
	case "run":
		u.Run = &ActiveRun{}
		into = u.Run
	default:
		return nil, nil
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFrame, m.Event, err)
	}
	return &u, nil
}

// sleep waits, and says whether ctx is still good.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
