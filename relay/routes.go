package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// handler is one that returns what went wrong, for one place to answer.
type handler func(http.ResponseWriter, *http.Request) error

func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.count, s.recover)
	r.NotFound(s.handle(func(http.ResponseWriter, *http.Request) error { return errNoRoute }))
	r.MethodNotAllowed(s.handle(s.wrongMethod(r)))

	r.Post("/chat/live", s.handle(s.livePost))
	r.Get("/chat/live", s.handle(s.liveGet))
	r.Get("/runs/{run_id}", s.handle(s.run))
	r.Get("/runs/{run_id}/snapshot", s.handle(s.snapshot))
	r.Get("/livez", s.handle(s.livez))
	r.Get("/readyz", s.handle(s.readyz))
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{Timeout: writeTimeout}))

	if p := s.cfg.Producer; p != nil {
		r.Method(http.MethodPost, "/runs", p)
		r.Method(http.MethodPost, "/runs/{run_id}/events", p)
		r.Method(http.MethodPost, "/runs/{run_id}/heartbeat", p)
		r.Method(http.MethodPost, "/runs/{run_id}/end", p)
		r.Method(http.MethodGet, "/runs/{run_id}/controls", p)
	}
	return r
}

// handle answers what h returns. An error that comes after a part of the answer has
// gone out can only break the connection off.
func (s *Server) handle(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		if rec, ok := w.(*recorder); ok && rec.status != 0 {
			s.log.Warn("an answer broke off", "route", chi.RouteContext(r.Context()).RoutePattern(), "error", err)
			panic(http.ErrAbortHandler)
		}
		f := failureOf(err)
		if f == nil && errors.Is(context.Cause(r.Context()), errDraining) {
			f = failDraining
		}
		switch {
		case f == nil: // the client has left
			return
		case f == failInternal:
			s.log.Error("request failed", "route", chi.RouteContext(r.Context()).RoutePattern(), "error", err)
		case f.status >= http.StatusInternalServerError:
			s.log.Debug("request refused", "code", f.code, "error", err)
		}
		fail(w, f)
	}
}

// wrongMethod answers 405 with the methods that the path takes.
func (s *Server) wrongMethod(routes chi.Routes) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var allow []string
		for _, m := range []string{http.MethodGet, http.MethodPost} {
			if routes.Match(chi.NewRouteContext(), m, r.URL.Path) {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 { // a method that the router does not know gets here first
			return errNoRoute
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return errMethod
	}
}

// writeJSON answers 200 with a small JSON value.
func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = w.Write(append(body, '\n'))
	return err
}
