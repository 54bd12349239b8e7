package ingest

import (
	"errors"
	"net/http"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// heartbeat serves POST /runs/{run_id}/heartbeat.
func (h *Handler) heartbeat(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	held, run, err := h.runs.call(r.Context(), id)
	if err != nil {
		return err
	}
	defer h.runs.done(held)
	// A silent run may have moved without this process having learnt of it, and then
	// it is the other one's lease that is about to end.
	if err := run.Check(r.Context()); movable(err) {
		_, err = h.runs.retake(r.Context(), held, run)
		if err != nil {
			return err
		}
	} else if err != nil {
		return h.runs.why(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// end serves POST /runs/{run_id}/end.
func (h *Handler) end(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	var in endBody
	if err := decode(w, r, &in); err != nil {
		return err
	}
	o := producer.FinishOptions{Persisted: in.Persisted}
	if o.Reason, err = subjects.ParseReason(in.Reason); err != nil {
		return problem.New(problem.BadRequest, "%v", err)
	}
	seq, err := h.finish(r, id, o)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]any{"seq": seq})
}

// endBody is the body of POST /runs/{run_id}/end.
type endBody struct {
	Persisted bool   `json:"persisted"`
	Reason    string `json:"reason"`
}

// finish ends the run. That it has this very end already, from a request whose
// answer was lost, is the same.
func (h *Handler) finish(r *http.Request, id subjects.RunID, o producer.FinishOptions) (seq uint64, err error) {
	held, run, err := h.runs.call(r.Context(), id)
	var end subjects.End
	if err == nil {
		defer h.runs.done(held)
		end, err = run.Finish(r.Context(), o)
		if movable(err) {
			if run, err = h.runs.retake(r.Context(), held, run); err == nil {
				end, err = run.Finish(r.Context(), o)
			}
		}
	}
	got := &producer.EndedError{End: end}
	switch {
	case err == nil:
		h.runs.over(held)
		got.Seq = run.StoredSeq()
	case !errors.As(err, &got):
		return 0, err
	}
	if got.End.Superseded || got.End.Persisted != o.Persisted || got.End.Reason != o.Reason {
		return 0, got
	}
	return got.Seq, nil
}
