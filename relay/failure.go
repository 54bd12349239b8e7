package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
)

// failure is an answer that tells a client what went wrong, in words that are safe
// to show.
type failure struct {
	status int
	code   string // stable, for programs
	detail string // for people: what is wrong and what is allowed
	again  bool   // trying again later helps
}

func (f *failure) Error() string { return f.code + ": " + f.detail }

var (
	errProtocol  = &failure{http.StatusBadRequest, "unsupported_protocol", "protocol must be 1, or absent for a stream of plain AG-UI events", false}
	errNotFound  = &failure{http.StatusNotFound, "not_found", "there is no such run", false}
	errNoRoute   = &failure{http.StatusNotFound, "not_found", "there is nothing at this path", false}
	errMethod    = &failure{http.StatusMethodNotAllowed, "method_not_allowed", "this path does not take this method; see Allow", false}
	errNoFlush   = &failure{http.StatusInternalServerError, "cannot_stream", "something between the relay and its server holds responses back: its response writer can neither flush nor be unwrapped", false}
	failFull     = &failure{http.StatusServiceUnavailable, "too_many_observers", "this relay has as many streams as it may have; try again later, or another relay", true}
	failDraining = &failure{http.StatusServiceUnavailable, "draining", "this relay is shutting down; try again at once, or another relay", true}
	failBroker   = &failure{http.StatusServiceUnavailable, "broker_unavailable", "the broker does not answer; try again later", true}
	failInternal = &failure{http.StatusInternalServerError, "internal", "a fault of the relay; it has been logged", false}
)

func badRequest(detail string) error {
	return &failure{http.StatusBadRequest, "bad_request", detail, false}
}

func tooLarge(limit int64) error {
	return &failure{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is larger than %d bytes", limit), false}
}

// failureOf maps an error of whatever kind to what a client may learn of it. It is
// nil for a client that has left.
func failureOf(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, errDraining):
		return failDraining
	case errors.Is(err, errFull):
		return failFull
	case errors.Is(err, runs.ErrNotFound), errors.Is(err, consumer.ErrGone):
		return errNotFound
	case errors.Is(err, consumer.ErrBrokerUnavailable):
		return failBroker
	case errors.Is(err, context.Canceled):
		return nil
	}
	return failInternal
}

// writeTimeout bounds how long an answer that is not a stream may take to go out.
const writeTimeout = 30 * time.Second

// fail answers with problem details (RFC 9457).
func fail(w http.ResponseWriter, f *failure) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if f.again {
		// Spread, or whoever was refused together comes back together.
		h.Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
	}
	body, _ := json.Marshal(map[string]any{ // cannot fail
		"type": "about:blank", "title": http.StatusText(f.status), "status": f.status, "code": f.code, "detail": f.detail,
	})
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(f.status)
	_, _ = w.Write(append(body, '\n'))
}
