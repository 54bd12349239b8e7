package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// runView is what the outside may know of a run.
type runView struct {
	RunID     subjects.RunID `json:"run_id"`
	ChatID    string         `json:"chat_id"`
	TurnID    *string        `json:"turn_id"` // null for a run that no turn has made
	Kind      string         `json:"kind"`
	State     runs.State     `json:"state"`
	Seq       uint64         `json:"seq"`       // of the last event
	Questions []asked        `json:"questions"` // those that are open
	StartedAt time.Time      `json:"started_at"`
	EndedAt   *time.Time     `json:"ended_at"`
	End       *subjects.End  `json:"end"`
}

// asked is a question as the outside may know of it. What it asks is in the events.
type asked struct {
	RequestID string `json:"request_id"`
	Name      string `json:"name"`
}

// run serves GET /runs/{run_id}.
func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r, identity(r.Context()).MayRead)
	if err != nil {
		return err
	}
	seq, end, err := s.cfg.Hub.Head(r.Context(), e)
	if err != nil {
		return err
	}
	if e.End == nil && end != nil { // stored, and the entry is a moment behind
		e.State, e.End = runs.StateEnded, end
	}
	if err := s.goneOn(r.Context(), e); err != nil {
		return err
	}
	return writeJSON(w, viewOf(e, seq))
}

// goneOn closes what an ended run has asked, once its chat has gone on: the next run has the
// answer, or nobody wants one any more.
func (s *Server) goneOn(ctx context.Context, e *runs.Entry) error {
	if e.End == nil || e.Doing() != runs.StateWaiting {
		return nil
	}
	p, err := s.cfg.Store.Pointer(ctx, e.Realm, e.ChatID)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return brokerFailure(err)
	}
	if p.RunID != e.RunID {
		e.Questions = nil
	}
	return nil
}

func viewOf(e *runs.Entry, seq uint64) runView {
	v := runView{RunID: e.RunID, ChatID: e.ChatID, Kind: cmp.Or(e.Kind, "send"), State: e.Doing(), Seq: max(seq, e.Seq),
		Questions: []asked{}, StartedAt: e.StartedAt, End: e.End}
	if e.TurnID != "" {
		v.TurnID = &e.TurnID
	}
	if !e.EndedAt.IsZero() {
		v.EndedAt = &e.EndedAt
	}
	for _, q := range e.Questions {
		if q.Interrupt == (e.End != nil) { // any other has lost whoever waits for its answer, or is about to
			v.Questions = append(v.Questions, asked{RequestID: q.RequestID, Name: q.Name})
		}
	}
	return v
}

// snapshot serves GET /runs/{run_id}/snapshot.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r, identity(r.Context()).MayRead)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	seq, end, err := s.cfg.Hub.Head(r.Context(), e)
	if err != nil {
		return err
	}
	if tag := entityTag(e.RunID, seq, end); matches(r.Header.Values("If-None-Match"), tag) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), actTimeout) // there may be no room for it
	defer cancel()
	data, err := s.cfg.Hub.Snapshot(ctx, e)
	if err != nil {
		return waited(r.Context(), err)
	}
	defer data.Release()
	w.Header().Set("ETag", entityTag(e.RunID, data.Seq, data.End))
	w.Header().Set("Content-Type", "application/json")
	return s.writeSnapshot(w, e.RunID, data)
}

func (s *Server) writeSnapshot(w http.ResponseWriter, id subjects.RunID, data *consumer.SnapshotData) error {
	out := s.chunked(w, data.Overdue)
	out.text(`{"run_id":"` + string(id) + `","seq":` + strconv.FormatUint(data.Seq, 10) + `,"events":`)
	out.array(data.Events)
	end := "null"
	if data.End != nil {
		end = fmt.Sprintf(`{"persisted":%t,"superseded":%t,"reason":%q}`, data.End.Persisted, data.End.Superseded, data.End.Reason)
	}
	out.text(`,"end":` + end + "}\n")
	out.pass()
	return out.err
}

// chunked writes an answer of any size, each chunk within the time that an observer
// has for one. It is broken off where overdue, which may be nil, says so.
func (s *Server) chunked(w http.ResponseWriter, overdue func() bool) *chunks {
	rc := http.NewResponseController(w)
	return &chunks{send: func(b []byte) error {
		if overdue != nil && overdue() {
			return errOverdue
		}
		if err := rc.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		_, err := w.Write(b)
		return err
	}}
}

// entry reads the entry of the run that the path names. What is no run id is a run
// that does not exist, and so is one of a realm that the caller may not see.
func (s *Server) entry(r *http.Request, may func(subjects.Realm) bool) (*runs.Entry, error) {
	id, err := subjects.ParseRunID(chi.URLParam(r, "run_id"))
	if err != nil {
		return nil, errNotFound
	}
	e, err := s.entryOf(r.Context(), id)
	if err == nil && !may(e.Realm) {
		return nil, errNotFound
	}
	return e, err
}

// entityTag changes with every event and with the end.
func entityTag(id subjects.RunID, seq uint64, end *subjects.End) string {
	tag := `"` + string(id) + ":" + strconv.FormatUint(seq, 10)
	if end != nil {
		tag += ":end"
	}
	return tag + `"`
}

// matches says whether an If-None-Match header names the tag.
func matches(header []string, tag string) bool {
	for _, line := range header {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
			if one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}
