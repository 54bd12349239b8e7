package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// stubborn writes one run of numbered text over HTTP, whatever becomes of the relay: what it has
// no answer for it sends again, by number.
type stubborn struct {
	url   string
	chat  string
	rnd   *rand.Rand
	http  *http.Client
	run   subjects.RunID
	acked uint64 // newest seq that an answer has said to be stored
}

// errAnswer is an answer that no repeat would change.
var errAnswer = errors.New("answered")

// start starts the run, with a token, so that a repeat finds the same one.
func (w *stubborn) start(ctx context.Context) error {
	body, _ := json.Marshal(map[string]string{"chat_id": w.chat, "client_token": w.chat})
	return w.insist(ctx, func() error {
		var got struct {
			RunID subjects.RunID `json:"run_id"`
		}
		if err := w.post(ctx, "/runs", bytes.NewReader(body), 0, http.StatusCreated, &got); err != nil {
			return err
		}
		w.run = got.RunID
		return nil
	})
}

// write publishes up to a seq, in bodies of all sizes, some sent at once and some line by line.
func (w *stubborn) write(ctx context.Context, to uint64) error {
	for w.acked < to {
		n := min(1+w.rnd.Uint64N(120), to-w.acked)
		slow := w.rnd.IntN(2) == 0
		if err := w.insist(ctx, func() error { return w.send(ctx, w.acked+1, n, slow) }); err != nil {
			return err
		}
	}
	return nil
}

// send publishes n events from first on and holds the answer against what it must be.
func (w *stubborn) send(ctx context.Context, first, n uint64, slow bool) error {
	body := io.Reader(bytes.NewReader(numbered(first, n)))
	if slow {
		lines, feed := io.Pipe()
		body = lines
		go func() {
			for i := range n {
				if _, err := feed.Write(numbered(first+i, 1)); err != nil {
					return // the request is over
				}
				time.Sleep(time.Millisecond) // the pace of an agent
			}
			_ = feed.Close()
		}()
	}
	var got struct {
		Accepted uint64 `json:"accepted"`
		LastSeq  uint64 `json:"last_seq"`
	}
	if err := w.post(ctx, "/runs/"+string(w.run)+"/events", body, first, http.StatusOK, &got); err != nil {
		return err
	}
	if last := max(w.acked, first+n-1); got.LastSeq != last || got.Accepted > n {
		return fmt.Errorf("%w: %d accepted up to %d, for the events %d to %d", errAnswer, got.Accepted, got.LastSeq, first, last)
	}
	w.acked = got.LastSeq
	return nil
}

// again publishes everything once more: nothing of it may be new.
func (w *stubborn) again(ctx context.Context) error {
	var got struct {
		Accepted uint64 `json:"accepted"`
	}
	err := w.post(ctx, "/runs/"+string(w.run)+"/events", bytes.NewReader(numbered(1, w.acked)), 1, http.StatusOK, &got)
	if err == nil && got.Accepted != 0 {
		err = fmt.Errorf("%w: %d of the events were taken a second time", errAnswer, got.Accepted)
	}
	return err
}

// end ends the run.
func (w *stubborn) end(ctx context.Context) error {
	return w.insist(ctx, func() error {
		var got struct {
			Seq uint64 `json:"seq"`
		}
		err := w.post(ctx, "/runs/"+string(w.run)+"/end", bytes.NewReader([]byte(`{"persisted":true}`)), 0, http.StatusOK, &got)
		if err == nil && got.Seq != w.acked {
			err = fmt.Errorf("%w: ended at %d, but %d are acknowledged", errAnswer, got.Seq, w.acked)
		}
		return err
	})
}

// insist tries until there is an answer.
func (w *stubborn) insist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || errors.Is(err, errAnswer) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (w *stubborn) post(ctx context.Context, path string, body io.Reader, first uint64, want int, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, body)
	if err != nil {
		return err
	}
	if first > 0 {
		req.Header.Set("Rejoin-First-Seq", strconv.FormatUint(first, 10))
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("%s: %s", resp.Status, answer)
	case resp.StatusCode != want:
		return fmt.Errorf("%w: %s: %s", errAnswer, resp.Status, answer)
	}
	return json.Unmarshal(answer, into)
}

// numbered is n events of numbered text, one a line.
func numbered(first, n uint64) []byte {
	var b []byte
	for i := range n {
		b = append(append(b, harness.Delta(first+i)...), '\n')
	}
	return b
}
