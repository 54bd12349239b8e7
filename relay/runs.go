package relay

import (
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
	Kind      string         `json:"kind"`
	State     runs.State     `json:"state"`
	Seq       uint64         `json:"seq"` // of the last event
	StartedAt time.Time      `json:"started_at"`
	EndedAt   *time.Time     `json:"ended_at"`
	End       *subjects.End  `json:"end"`
}

// run serves GET /runs/{run_id}.
func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r)
	if err != nil {
		return err
	}
	seq, end, err := s.cfg.Hub.Head(r.Context(), e)
	if err != nil {
		return err
	}
	v := runView{RunID: e.RunID, ChatID: e.ChatID, Kind: e.Kind, State: e.State, Seq: max(seq, e.Seq), StartedAt: e.StartedAt, End: e.End}
	if v.Kind == "" {
		v.Kind = "send"
	}
	if v.End == nil && end != nil { // stored, and the entry is a moment behind
		v.State, v.End = runs.StateEnded, end
	}
	if !e.EndedAt.IsZero() {
		v.EndedAt = &e.EndedAt
	}
	return writeJSON(w, v)
}

// snapshot serves GET /runs/{run_id}/snapshot.
func (s *Server) snapshot(w http.ResponseWriter, r *http.Request) error {
	e, err := s.entry(r)
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
	data, err := s.cfg.Hub.Snapshot(r.Context(), e)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", entityTag(e.RunID, data.Seq, data.End))
	w.Header().Set("Content-Type", "application/json")
	return s.writeSnapshot(w, e.RunID, data)
}

// writeSnapshot writes the answer in chunks, each within the time that an observer
// has for one.
func (s *Server) writeSnapshot(w http.ResponseWriter, id subjects.RunID, data consumer.SnapshotData) error {
	rc := http.NewResponseController(w)
	out := chunks{send: func(b []byte) error {
		if err := rc.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		_, err := w.Write(b)
		return err
	}}
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

// entry reads the entry of the run that the path names. What is no run id is a run
// that does not exist.
func (s *Server) entry(r *http.Request) (*runs.Entry, error) {
	id, err := subjects.ParseRunID(chi.URLParam(r, "run_id"))
	if err != nil {
		return nil, errNotFound
	}
	e, err := s.cfg.Store.Entry(r.Context(), id)
	switch {
	case err == nil, errors.Is(err, runs.ErrNotFound), errors.Is(err, context.Canceled):
		return e, err
	}
	return nil, fmt.Errorf("%w: %w", consumer.ErrBrokerUnavailable, err)
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
