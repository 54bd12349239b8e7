package relay

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/go-chi/chi/v5"
)

// recorder remembers the status of an answer. It hides nothing: who needs to flush
// or to set a deadline unwraps it.
type recorder struct {
	http.ResponseWriter
	status int // 0 as long as nothing has been sent
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader notes the status; 1xx ones are not the answer yet.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// begun says whether a part of the answer has gone out.
func begun(w http.ResponseWriter) bool {
	rec, ok := w.(*recorder)
	return ok && rec.status != 0
}

// count counts requests. Nothing of the request itself becomes a label: the route
// is the pattern it matched, the method one of those in use.
func (s *Server) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		defer func() {
			route := chi.RouteContext(r.Context()).RoutePattern()
			if route == "" {
				route = other
			}
			s.metrics.requests.WithLabelValues(route, methodOf(r.Method), statusOf(rec.status)).Inc()
		}()
		next.ServeHTTP(rec, r)
	})
}

func methodOf(m string) string {
	switch m {
	case http.MethodGet, http.MethodPost:
		return m
	}
	return other
}

// statusOf is the class of a status. Nothing sent means that the client left first
// or that the answer was broken off.
func statusOf(status int) string {
	if status == 0 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}

// recover turns a panic into a 500, or breaks the connection off where an answer
// has begun: the client must not take it for whole.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && err == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
				panic(v)
			}
			s.metrics.panics.Inc()
			s.log.Error("panic in a handler", "route", chi.RouteContext(r.Context()).RoutePattern(),
				"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			if begun(w) {
				panic(http.ErrAbortHandler)
			}
			answer(w, errPanic)
		}()
		next.ServeHTTP(w, r)
	})
}
