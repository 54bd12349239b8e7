package relay

import (
	"encoding/json"
	"errors"
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
	r.Use(s.count, s.recover, s.spare)
	r.NotFound(s.handle(func(http.ResponseWriter, *http.Request) error { return errNoRoute }))
	r.MethodNotAllowed(s.handle(s.wrongMethod(r)))
	for _, t := range s.table() {
		r.Method(t.method, t.pattern, s.guard(t.access, s.traced(t)))
	}
	return r
}

// route is one row of the table: who may ask what, and who answers.
type route struct {
	method, pattern string
	access          access
	handler         http.Handler
}

// table is all that this relay answers.
func (s *Server) table() []route {
	const get, head, post = http.MethodGet, http.MethodHead, http.MethodPost
	all := []route{
		{post, "/chat/live", watcher, s.handle(s.livePost)},
		{get, "/chat/live", watcher, s.handle(s.liveGet)},
		{post, "/chats/live", observing, s.handle(s.sharedLive)},
		{get, "/chat/{chat_id}/session", observing, s.handle(s.session)},
		{get, "/runs/{run_id}", reader, s.handle(s.run)},
		{get, "/runs/{run_id}/snapshot", reader, s.handle(s.snapshot)},
		{get, "/runs/{run_id}/controls", producer, s.handle(s.controls)},
		{get, "/livez", public, s.handle(s.livez)},
		{head, "/livez", public, s.handle(s.livez)}, // some probes ask for the header only
		{get, "/readyz", public, s.handle(s.readyz)},
		{head, "/readyz", public, s.handle(s.readyz)},
		{get, "/openapi.json", public, s.handle(s.openapi)},
	}
	if !s.cfg.NoMetrics {
		all = append(all, route{get, "/metrics", public, ops.Metrics(s.metrics.registry)})
	}
	if s.cfg.Turns != nil {
		all = append(all,
			route{post, "/chat", observing, s.handle(s.chat)},
			route{post, "/chat/send", observing, s.handle(s.send)},
			route{post, "/chat/steer-send", observing, s.handle(s.steerSend)},
			route{post, "/chat/stop", observing, s.handle(s.stop)},
			route{post, "/chat/answer", observing, s.handle(s.answer)})
		all = append(all, s.doors()...)
	}
	if s.cfg.Active != nil {
		all = append(all, route{get, "/runs/active", observing, s.handle(s.activeRuns)})
	}
	if s.cfg.Switch != nil {
		all = append(all,
			route{get, "/admin/switch", admin, s.handle(s.getSwitch)},
			route{http.MethodPut, "/admin/switch", admin, s.handle(s.putSwitch)})
	}
	if s.cfg.History != nil {
		all = append(all, route{get, "/chat/{chat_id}/history", observing, s.handle(s.history)})
	}
	if d := s.cfg.Demo; d != nil {
		all = append(all, // the contract, and /openapi.json, leave it out: it is no part of a relay but of dev
			route{get, "/demo", public, d}, route{head, "/demo", public, d},
			route{get, "/demo/*", public, d}, route{head, "/demo/*", public, d},
			route{post, "/demo/kill", observing, d})
	}
	if p := s.cfg.Producer; p != nil {
		all = append(all,
			route{post, "/runs", producer, p},
			route{post, "/runs/{run_id}/events", producer, p},
			route{post, "/runs/{run_id}/heartbeat", producer, p},
			route{post, "/runs/{run_id}/end", producer, p})
	}
	return all
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
		if errors.Is(err, errCredential) { // it expired while the request waited
			err = s.refuse(w, r, err)
		}
		p := answerTo(r.Context(), err)
		if p == nil { // the client has left; for a handler that just returns, net/http would answer 200
			panic(http.ErrAbortHandler)
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
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
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
