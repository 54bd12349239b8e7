package ingest

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// FirstSeqHeader gives the number of a body's first event.
const FirstSeqHeader = "Rejoin-First-Seq"

// events serves POST /runs/{run_id}/events.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	at, err := firstSeq(r)
	if err != nil {
		return err
	}
	held, run, err := h.runs.call(r.Context(), id)
	if err != nil {
		return err
	}
	defer h.runs.done(held)
	open := streams(r)
	in := newLines(r.Body, h.cfg.MaxEventBytes, &h.room, r.ContentLength, !open)
	defer in.close()
	f := &feed{runs: &h.runs, held: held, run: run, in: in, from: at}
	if open {
		if err := f.check(r.Context()); err != nil {
			return h.runs.why(err)
		}
		defer interrupt(w, f.run.Done())()
	}
	f.over = auth.Over(r.Context())
	defer interrupt(w, f.over)()
	last, err := f.take(r.Context())
	if errors.Is(err, auth.ErrExpired) {
		w.Header().Set("WWW-Authenticate", auth.ExpiredChallenge)
	}
	if err != nil {
		return h.runs.why(err)
	}
	answerEvents(w, f.accepted, last)
	return nil
}

// firstSeq reads Rejoin-First-Seq, 0 where there is none.
func firstSeq(r *http.Request) (uint64, error) {
	values := r.Header.Values(FirstSeqHeader)
	if len(values) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(values[0], 10, 64)
	if len(values) > 1 || err != nil || n == 0 || n > subjects.MaxSeq || values[0][0] == '+' {
		return 0, problem.New(problem.BadRequest, "%s must be one integer 1 … 2^53-1, written as digits", FirstSeqHeader)
	}
	return n, nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// interrupt ends the reading of a request's body when why is closed: the run takes no more
// events, or nobody may bring any, and a producer that only waits would not learn of it. The
// function returned stops that.
func interrupt(w http.ResponseWriter, why <-chan struct{}) func() {
	if why == nil {
		return func() {}
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-why:
			_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		case <-over:
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}
