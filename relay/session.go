package relay

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// sessionRun is the run of a chat to come back to, and the credential for it.
type sessionRun struct {
	RunID       subjects.RunID `json:"run_id"`
	State       runs.State     `json:"state"`
	Kind        string         `json:"kind"`
	StartedAt   time.Time      `json:"started_at"`
	ResumeToken *string        `json:"resume_token"` // null where none is made
	ExpiresAt   *time.Time     `json:"expires_at"`
}

// session serves GET /chat/{chat_id}/session: the chat's newest run that is kept, null for
// a chat without one, with a resume token made for this answer.
func (s *Server) session(w http.ResponseWriter, r *http.Request) error {
	chat, err := pathChat(r)
	if err != nil {
		return err
	}
	answer := struct {
		ChatID string      `json:"chat_id"`
		Run    *sessionRun `json:"run"`
	}{ChatID: chat}
	e, err := s.newest(r.Context(), identity(r.Context()).Realm, chat)
	if errors.Is(err, runs.ErrNotFound) {
		return writeJSON(w, answer)
	}
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
	v := viewOf(e, seq)
	answer.Run = &sessionRun{RunID: v.RunID, State: v.State, Kind: v.Kind, StartedAt: v.StartedAt}
	if err := s.mint(r.Context(), answer.Run, chat); err != nil {
		return err
	}
	return writeJSON(w, answer)
}

// newest is the run that the chat's pointer names, or the one whose time comes next;
// ErrNotFound where there is none.
func (s *Server) newest(ctx context.Context, realm subjects.Realm, chat string) (*runs.Entry, error) {
	p, err := s.cfg.Store.Pointer(ctx, realm, chat)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, brokerFailure(err)
	}
	for _, id := range append([]subjects.RunID{p.RunID}, p.Queue...) {
		if id == "" {
			continue
		}
		if e, err := s.entryOf(ctx, id); !errors.Is(err, runs.ErrNotFound) {
			return e, err
		}
	}
	return nil, runs.ErrNotFound
}

func (s *Server) mint(ctx context.Context, run *sessionRun, chat string) error {
	if s.cfg.Resume == nil {
		return nil
	}
	token, expires, err := s.cfg.Resume.Mint(identity(ctx), auth.Grant{ChatID: chat, RunID: run.RunID})
	if errors.Is(err, auth.ErrUnavailable) {
		return unavailable(problem.Unavailable, "resume tokens cannot be made at the moment; try again later").Because(err)
	}
	if err != nil {
		return err
	}
	run.ResumeToken, run.ExpiresAt = &token, &expires
	return nil
}
