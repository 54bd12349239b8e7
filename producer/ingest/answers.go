package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

var (
	errNotFound = problem.New(problem.NotFound, "there is no such run")
	errFenced   = problem.New(problem.Fenced, "the run was taken over by another producer")
	errDraining = problem.New(problem.Unavailable, "this relay is shutting down; repeat the request, another relay goes on")
	errFull     = problem.New(problem.Unavailable, "this relay holds as many runs as it may; try again later, or another relay")
	errNotBegun = problem.New(problem.NotBegun, "the run is that of a turn, which waits for a worker; it cannot be written over HTTP")
	errBroker   = problem.New(problem.Unavailable, "the broker does not answer; try again later")
	errEnding   = problem.New(problem.RunEnded, "the run's end was asked for")
	errNoRoom   = problem.New(problem.Unavailable, "this relay takes in as many large events as it may; go on with this line a little later, or at another relay")
	errExpired  = problem.New(problem.TokenExpired, "the token has expired; what had arrived whole is stored: go on with a fresh one").Because(auth.ErrExpired)
	errLogLost  = problem.New(problem.RunEnded, "the broker no longer has the run's log; the run ends as an error")
)

// answerTo maps an error of whatever kind to what a caller may learn of it.
func answerTo(err error) error {
	p := problemOf(err)
	if p.Code == problem.Unavailable {
		// Spread, or whoever was refused together comes back together.
		p = p.After(time.Second + rand.N(4*time.Second))
	}
	return p
}

func problemOf(err error) *problem.Error {
	var p *problem.Error
	var ended *producer.EndedError
	var event *producer.EventError
	var gap *producer.GapError
	var active *producer.AlreadyStreamingError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &ended):
		return hasEnded(ended)
	case errors.Is(err, producer.ErrFenced):
		return errFenced.Because(err)
	case errors.As(err, &event) && event.Limit > 0:
		return tooLarge(event.Limit)
	case event != nil:
		return problem.New(problem.BadRequest, "%v", event)
	case errors.As(err, &gap):
		return problem.New(problem.SeqGap, "%v", gap).With("expected_seq", gap.Expected)
	case errors.As(err, &active):
		return problem.New(problem.AlreadyStreaming, "the chat has an active run").With("run_id", string(active.RunID))
	case errors.Is(err, producer.ErrOptions):
		return problem.New(problem.BadRequest, "%v", err)
	case errors.Is(err, producer.ErrNotFound), errors.Is(err, subjects.ErrRunID):
		return errNotFound
	case errors.Is(err, producer.ErrNotBegun):
		return errNotBegun
	case errors.Is(err, producer.ErrLogLost):
		return errLogLost.Because(err)
	case errors.Is(err, producer.ErrClosed):
		return errDraining.Because(err)
	}
	return errBroker.Because(err) // whatever else there is comes from the broker, or its absence
}

// hasEnded is the answer for a run that has its end. Whoever wrote a run that was
// superseded lost it to another, and is told so.
func hasEnded(e *producer.EndedError) *problem.Error {
	p := problem.New(problem.RunEnded, "the run has ended: reason %s, persisted %t", e.End.Reason, e.End.Persisted)
	if e.End.Superseded {
		p = problem.New(problem.Fenced, "a newer run has taken the chat")
		if e.End.NextRunID != "" {
			p = p.With("next_run_id", string(e.End.NextRunID))
		}
	}
	return p.With("seq", e.Seq).With("persisted", e.End.Persisted).With("reason", string(e.End.Reason))
}

func tooLarge(limit int) *problem.Error {
	return problem.New(problem.TooLarge, "the event is too large; allowed are %d bytes", limit)
}

// answer sends a status and a JSON body.
func answer(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	write(w, status, append(text, '\n'))
	return nil
}

func write(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that left needs no answer
}

// answerEvents says how many events of a request were not there before, and the run's last number.
// It is by far the most frequent answer, so it is written by hand.
func answerEvents(w http.ResponseWriter, accepted int, last uint64) {
	text := append(make([]byte, 0, 64), `{"accepted":`...)
	text = strconv.AppendInt(text, int64(accepted), 10)
	text = append(text, `,"last_seq":`...)
	text = strconv.AppendUint(text, last, 10)
	write(w, http.StatusOK, append(text, "}\n"...))
}

// Limits of the small bodies, those that are one JSON object.
const (
	maxBody     = 64 << 10
	bodyTimeout = 30 * time.Second
)

// decode reads a body that is one JSON object, within size and time.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	if err := problem.DecodeBody(r, maxBody, v); err != nil {
		var p *problem.Error
		if errors.As(err, &p) && p.Code == problem.TooLarge {
			problem.Linger(w, r.Body)
		}
		return err // the rest of the body has no more time than that either
	}
	_ = rc.SetReadDeadline(time.Time{})
	return nil
}
