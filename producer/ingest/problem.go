package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// problem is an answer that tells a caller what went wrong, in words that are safe to
// show.
type problem struct {
	status int
	code   string         // stable, for programs
	detail string         // for people: what is wrong and what is allowed
	extra  map[string]any // further members
}

func (p *problem) Error() string { return p.code + ": " + p.detail }

// with adds a member.
func (p problem) with(name string, value any) *problem {
	extra := maps.Clone(p.extra)
	if extra == nil {
		extra = map[string]any{}
	}
	extra[name] = value
	p.extra = extra
	return &p
}

var (
	errNotFound = &problem{status: http.StatusNotFound, code: "not_found", detail: "there is no such run"}
	errFenced   = &problem{status: http.StatusConflict, code: "fenced", detail: "the run was taken over by another producer"}
	errDraining = &problem{status: http.StatusServiceUnavailable, code: "draining", detail: "this relay is shutting down; repeat the request, another relay goes on"}
	errFull     = &problem{status: http.StatusServiceUnavailable, code: "too_many_runs", detail: "this relay holds as many runs as it may; try again later, or another relay"}
	errBroker   = &problem{status: http.StatusServiceUnavailable, code: "broker_unavailable", detail: "the broker does not answer; try again later"}
	errEnding   = &problem{status: http.StatusConflict, code: "run_ended", detail: "the run's end was asked for"}
	errLogLost  = &problem{status: http.StatusConflict, code: "run_ended", detail: "the broker no longer has the run's log; the run ends as an error"}
)

func badRequest(format string, args ...any) *problem {
	return &problem{status: http.StatusBadRequest, code: "bad_request", detail: fmt.Sprintf(format, args...)}
}

func tooLarge(detail string) *problem {
	return &problem{status: http.StatusRequestEntityTooLarge, code: "too_large", detail: detail}
}

// ended is the answer for a run that has its end. Whoever wrote a run that was
// superseded lost it to another, and is told so.
func ended(e *producer.EndedError) *problem {
	p := &problem{status: http.StatusConflict, code: "run_ended",
		detail: fmt.Sprintf("the run has ended: %s, persisted %t", e.End.Reason, e.End.Persisted),
		extra:  map[string]any{"seq": e.Seq, "persisted": e.End.Persisted, "reason": e.End.Reason}}
	if e.End.Superseded {
		p.code, p.detail = "fenced", "a newer run has taken the chat"
		if e.End.NextRunID != "" {
			return p.with("next_run_id", e.End.NextRunID)
		}
	}
	return p
}

// problemOf maps an error of whatever kind to what a caller may learn of it.
func problemOf(err error) *problem {
	var p *problem
	var e *producer.EndedError
	var event *producer.EventError
	var gap *producer.GapError
	var active *producer.AlreadyStreamingError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &e):
		return ended(e)
	case errors.Is(err, producer.ErrFenced):
		return errFenced
	case errors.As(err, &event) && event.Limit > 0:
		return tooLarge(event.Error())
	case event != nil:
		return badRequest("%v", event)
	case errors.As(err, &gap):
		return (&problem{status: http.StatusConflict, code: "seq_gap", detail: gap.Error()}).with("expected_seq", gap.Expected)
	case errors.As(err, &active):
		return (&problem{status: http.StatusConflict, code: "already_streaming", detail: "the chat has an active run"}).with("run_id", active.RunID)
	case errors.Is(err, producer.ErrOptions):
		return badRequest("%v", err)
	case errors.Is(err, producer.ErrNotFound), errors.Is(err, subjects.ErrRunID):
		return errNotFound
	case errors.Is(err, producer.ErrLogLost):
		return errLogLost
	case errors.Is(err, producer.ErrClosed):
		return errDraining
	}
	return errBroker // whatever else there is comes from the broker, or its absence
}

// refuse answers with problem details. A body that was not read to its end is not
// worth waiting for.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p == errBroker && !errors.Is(err, context.Canceled) {
		h.log.Warn("request not served", "method", r.Method, "error", err)
	}
	hd := w.Header()
	hd.Set("Content-Type", "application/problem+json")
	hd.Set("Cache-Control", "no-store")
	if p.status == http.StatusServiceUnavailable {
		// Spread, or whoever was refused together comes back together.
		hd.Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
	}
	body := map[string]any{"type": "about:blank", "title": http.StatusText(p.status),
		"status": p.status, "code": p.code, "detail": p.detail}
	maps.Copy(body, p.extra)
	answer(w, p.status, body)
}

// answer sends a status and a JSON body.
func answer(w http.ResponseWriter, status int, body any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings, numbers and booleans always marshal
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
