package relay

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/problem"
)

// boundBody gives every body bodyTimeout to arrive, whether or not anybody reads it:
// net/http reads what is left of it before an answer goes out, for as long as it takes.
// A handler whose body takes longer by design says so itself.
func boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				if err := skipBody(w, r); err != nil {
					answer(w, err)
					return
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// skipBody reads a body that means nothing. A stream could not see its observer leave
// while there is one unread.
func skipBody(w http.ResponseWriter, r *http.Request) *problem.Error {
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		problem.Linger(w, r.Body)
		return tooLarge(maxBody)
	case err != nil:
		return problem.New(problem.BadRequest, "the body did not arrive whole").Because(err)
	}
	return nil
}

// unhurried lifts the deadlines of a whole answer (http.Server.ReadTimeout and
// WriteTimeout, where a program serves the relay with a server of its own): a wait and a
// stream outlast them. Every write has its own deadline.
func unhurried(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
}

// writeEmpty answers without a body, however long the request has waited.
func writeEmpty(w http.ResponseWriter, status int) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
}
