package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// watch is what an observer asks for.
type watch struct {
	run   subjects.RunID // "" names none
	after *uint64        // nil: no cursor
	get   bool           // as EventSource does, with Last-Event-ID
}

func at(seq uint64) *uint64 { return &seq }

// stream is one open connection of an observer.
type stream struct {
	p      *prober
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.Closer
	dec    *consumer.Decoder
}

// attach opens a stream. It returns errIdle for a 204 and *statusError for other answers.
func (p *prober) attach(ctx context.Context, w watch) (_ *stream, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if err != nil {
			cancel(nil)
		}
	}()
	limit := time.AfterFunc(p.cfg.Patience, func() { cancel(fmt.Errorf("no answer within %v", p.cfg.Patience)) })
	defer limit.Stop()
	req, err := p.watchRequest(ctx, w)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, because(ctx, err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusNoContent:
		err = errIdle
	case resp.StatusCode != http.StatusOK:
		err = refusal(resp)
	case kind != "text/event-stream":
		err = fmt.Errorf("200 with the Content-Type %.60q", resp.Header.Get("Content-Type"))
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	dec := consumer.NewDecoder(resp.Body)
	dec.Limit = maxAnswer
	return &stream{p: p, ctx: ctx, cancel: cancel, body: resp.Body, dec: dec}, nil
}

func (p *prober) watchRequest(ctx context.Context, w watch) (*http.Request, error) {
	if w.get {
		q := url.Values{"chat_id": {p.chat}}
		if w.run != "" {
			q.Set("run_id", string(w.run))
		}
		req, err := p.request(ctx, http.MethodGet, "/chat/live?"+q.Encode(), nil)
		if err == nil && w.after != nil {
			req.Header.Set("Last-Event-ID", fmt.Sprintf("%s:%d", w.run, *w.after))
		}
		return req, err
	}
	body, err := json.Marshal(struct {
		ChatID   string         `json:"chat_id"`
		Protocol int            `json:"protocol"`
		RunID    subjects.RunID `json:"run_id,omitempty"`
		AfterSeq *uint64        `json:"after_seq,omitempty"`
	}{p.chat, 1, w.run, w.after})
	if err != nil {
		return nil, err
	}
	req, err := p.request(ctx, http.MethodPost, "/chat/live", body)
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
	}
	return req, err
}

// next gives the next frame that is known, with the id of its message, or io.EOF. It
// gives up when none comes in time, whatever else does.
func (s *stream) next() (id string, f consumer.Frame, err error) {
	patience := s.p.cfg.Patience + time.Second/time.Duration(s.p.cfg.Rate)
	alarm := time.AfterFunc(patience, func() { s.cancel(fmt.Errorf("no frame for %v", patience.Round(time.Millisecond))) })
	defer alarm.Stop()
	for {
		m, err := s.dec.Next()
		if err != nil {
			return "", f, because(s.ctx, err)
		}
		f, err := consumer.ParseFrame(m.Data)
		if errors.Is(err, consumer.ErrUnknownFrame) || m.Event != "" && m.Event != "message" {
			continue
		}
		return m.ID, f, err
	}
}

func (s *stream) close() {
	s.cancel(errLeft)
	_ = s.body.Close()
}
