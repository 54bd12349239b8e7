package relay

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// maxHistories is how many answers with saved turns are under way at once: each may hold
// several MiB for as long as its reader takes.
const maxHistories = 64

// history serves GET /chat/{chat_id}/history.
func (s *Server) history(w http.ResponseWriter, r *http.Request) error {
	chat, err := pathChat(r)
	if err != nil {
		return err
	}
	limit, err := historyLimit(r)
	if err != nil {
		return err
	}
	place, err := s.histories.take(ownerOf(r.Context()))
	if err != nil {
		return err
	}
	defer place.leave()
	ctx, cancel := context.WithTimeout(r.Context(), actTimeout)
	defer cancel()
	turns, err := s.cfg.History.Read(ctx, identity(ctx).Realm, chat, limit)
	if err != nil {
		if r.Context().Err() != nil {
			return context.Cause(r.Context())
		}
		return brokerFailure(err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	size := 0
	for i := range turns {
		size += len(turns[i].Input) + len(turns[i].Events)
	}
	place.holds(size)
	return s.writeTurns(w, turns, place.overdue)
}

// writeTurns writes inputs and events as they are stored, and breaks off where overdue says so.
func (s *Server) writeTurns(w http.ResponseWriter, turns []history.Turn, overdue func() bool) error {
	out := s.chunked(w, overdue)
	out.text(`{"turns":[`)
	for i, t := range turns {
		if i > 0 {
			out.text(",")
		}
		input, events := t.Input, t.Events
		if len(input) == 0 {
			input = []byte("null")
		}
		if len(events) == 0 {
			events = []byte("[]")
		}
		t.Input, t.Events = nil, nil
		head, err := marshal(struct {
			history.Turn
			Input  any `json:"input,omitempty"`
			Events any `json:"events,omitempty"`
		}{Turn: t})
		if err != nil {
			return err
		}
		out.json(head[:len(head)-1])
		out.text(`,"input":`)
		out.json(input)
		out.text(`,"events":`)
		out.json(events)
		out.text("}")
	}
	out.text("]}\n")
	out.pass()
	return out.err
}

// pathChat is the chat that a path names, with its escapes.
func pathChat(r *http.Request) (string, error) {
	chat := chi.URLParam(r, "chat_id")
	if r.URL.RawPath != "" { // the router has matched what is still escaped
		var err error
		if chat, err = url.PathUnescape(chat); err != nil {
			return "", problem.New(problem.BadRequest, "chat_id in the path has an escape that is none")
		}
	}
	if err := subjects.CheckChatID(chat); err != nil {
		return "", problem.New(problem.BadRequest, "chat_id in the path is %s; allowed are 1 to 256 bytes of valid UTF-8", err)
	}
	return chat, nil
}

// historyLimit is how many turns a query asks for, 0 where it does not say.
func historyLimit(r *http.Request) (int, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return 0, problem.New(problem.BadRequest, "the query is malformed")
	}
	limit := values.Get("limit")
	if limit == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(limit, 10, 16)
	if err != nil || n == 0 || n > history.MaxLimit {
		return 0, problem.New(problem.BadRequest, "limit must be an integer from 1 to %d, in plain digits", history.MaxLimit)
	}
	return int(n), nil
}
