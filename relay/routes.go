package relay

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/rejoin/rejoin/internal/ops"
	"github.com/rejoin/rejoin/internal/problem"
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
	r.Get("/runs/{run_id}/controls", s.handle(s.controls))
	for _, m := range []string{http.MethodGet, http.MethodHead} { // some probes ask for the header only
		r.Method(m, "/livez", s.handle(s.livez))
		r.Method(m, "/readyz", s.handle(s.readyz))
	}
	if !s.cfg.NoMetrics {
		r.Method(http.MethodGet, "/metrics", ops.Metrics(s.metrics.registry))
	}

	if s.cfg.Turns != nil {
		r.Post("/chat", s.handle(s.chat))
		r.Post("/chat/send", s.handle(s.send))
		r.Post("/chat/steer-send", s.handle(s.steerSend))
		r.Post("/chat/stop", s.handle(s.stop))
		r.Post("/chat/answer", s.handle(s.answer))
	}
	if s.cfg.History != nil {
		r.Get("/chat/{chat_id}/history", s.handle(s.history))
	}
	if p := s.cfg.Producer; p != nil {
		r.Method(http.MethodPost, "/runs", p)
		r.Method(http.MethodPost, "/runs/{run_id}/events", p)
		r.Method(http.MethodPost, "/runs/{run_id}/heartbeat", p)
		r.Method(http.MethodPost, "/runs/{run_id}/end", p)
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
		route := chi.RouteContext(r.Context()).RoutePattern()
		if begun(w) {
			s.log.Warn("an answer broke off", "route", route, "error", err)
			panic(http.ErrAbortHandler)
		}
		p := answerTo(r.Context(), err)
		if p == nil { // the client has left
			return
		}
		if p.Code == problem.Internal {
			s.log.Error("request failed", "route", route, "error", err)
		} else if p.RetryAfter > 0 {
			s.log.Debug("request refused", "route", route, "error", err)
		}
		answer(w, p)
	}
}

// writeTimeout bounds how long an answer that is not a stream may take to go out.
const writeTimeout = 30 * time.Second

// answer writes a problem, within the time that an answer may take.
func answer(w http.ResponseWriter, p *problem.Error) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	problem.Write(w, p)
}

// wrongMethod answers 405 with the methods that the path takes.
func (s *Server) wrongMethod(routes chi.Routes) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var allow []string
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			if routes.Match(chi.NewRouteContext(), m, r.URL.Path) {
				allow = append(allow, m)
			}
		}
		if len(allow) == 0 { // a method that the router does not know gets here first
			return errNoRoute
		}
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return problem.New(problem.MethodNotAllowed, "this path takes no %.20q; allowed are %s", r.Method, strings.Join(allow, ", "))
	}
}

// writeJSON answers 200 with a small JSON value.
func writeJSON(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

func writeStatus(w http.ResponseWriter, status int, v any) error {
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
	w.WriteHeader(status)
	_, err = w.Write(append(body, '\n'))
	return err
}
