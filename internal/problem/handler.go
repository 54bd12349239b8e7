package problem

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
)

// Func is an HTTP handler that returns what went wrong instead of writing it.
type Func func(w http.ResponseWriter, r *http.Request) error

// Handlers adapts Funcs. The zero value works.
type Handlers struct {
	// Map turns the errors of other packages into Errors (a sentinel into
	// not_found, say), and returns the rest unchanged. nil means no mapping.
	Map func(error) error

	// Log receives what clients are not told. nil means it is dropped.
	Log *slog.Logger
}

// Handler adapts fn without mapping or logging.
func Handler(fn Func) http.HandlerFunc { return Handlers{}.Handler(fn) }

// Handler runs fn and answers with the error it returns. If fn has begun its
// answer, the error is logged only; if it gave up because the client has left, the
// connection is broken off by a panic with http.ErrAbortHandler.
func (h Handlers) Handler(fn Func) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t := &tracker{ResponseWriter: w}
		err := fn(t, r)
		if err == nil {
			return
		}
		if h.Map != nil {
			if mapped := h.Map(err); mapped != nil {
				err = mapped
			}
		}
		gone := r.Context().Err() != nil
		h.log(r, err, t.started, gone)
		switch {
		case t.started:
		case gone && errors.Is(err, context.Canceled):
			// For a handler that just returns, net/http answers 200: a caller that has
			// only closed its own side would take that for the answer.
			panic(http.ErrAbortHandler)
		default:
			Write(w, err)
		}
	}
}

// log keeps faults of ours at error level; a client's mistakes and departures
// are its own business and would only drown them.
func (h Handlers) log(r *http.Request, err error, started, gone bool) {
	if h.Log == nil {
		return
	}
	level := slog.LevelDebug
	var e *Error
	if ours := !errors.As(err, &e) || e.complete().Status == http.StatusInternalServerError; ours && !gone {
		level = slog.LevelError
	}
	h.Log.Log(r.Context(), level, "request failed",
		"method", clean(r.Method), "path", clean(r.URL.Path), "started", started, "err", clean(err.Error()))
}

// tracker notes whether the answer has begun.
type tracker struct {
	http.ResponseWriter
	started bool
}

func (t *tracker) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		t.started = true
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Write(p []byte) (int, error) {
	t.started = true
	return t.ResponseWriter.Write(p)
}

// Flush is for callers that look for an http.Flusher; it sends the headers.
func (t *tracker) Flush() {
	t.started = true
	_ = http.NewResponseController(t.ResponseWriter).Flush()
}

// FlushError is what http.ResponseController looks for first.
func (t *tracker) FlushError() error {
	t.started = true
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach deadlines and the like.
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }
