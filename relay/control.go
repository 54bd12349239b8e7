package relay

import (
	"encoding/json"
	"net/http"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

// maxAnswerBody bounds the body of an answer, whose outcome the queue bounds.
const maxAnswerBody = 512 << 10

// stop serves POST /chat/stop.
func (s *Server) stop(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ChatID      *string `json:"chat_id"`
		RunID       string  `json:"run_id"`
		ClientToken string  `json:"client_token"`
		Reason      string  `json:"reason"`
	}
	if err := decode(w, r, maxBody, &in); err != nil {
		return err
	}
	chat, err := chatOf(in.ChatID, nil)
	switch {
	case err != nil:
		return err
	case in.RunID == "" && in.ClientToken == "":
		return problem.New(problem.BadRequest, "neither run_id nor client_token says what to stop; one of them is needed")
	case in.RunID != "" && in.ClientToken != "":
		return problem.New(problem.BadRequest, "run_id and client_token are both given; one of them says what to stop")
	}
	ctx, cancel := s.acting()
	defer cancel()
	id, err := s.cfg.Turns.Stop(ctx, turns.StopRequest{Realm: identity(r.Context()).Realm, ChatID: chat, RunID: subjects.RunID(in.RunID),
		ClientToken: in.ClientToken, Reason: in.Reason})
	traceRun(tracing.Current(r.Context()), chat, id)
	if err != nil {
		return s.turnFailure(err, errNoRun)
	}
	return writeStatus(w, http.StatusAccepted, map[string]any{"status": "stopping", "run_id": id})
}

// answer serves POST /chat/answer.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ChatID    *string         `json:"chat_id"`
		RunID     string          `json:"run_id"`
		RequestID string          `json:"request_id"`
		Outcome   json.RawMessage `json:"outcome"`
	}
	defer inRoom(r, s.aside)()
	if err := decode(w, r, maxAnswerBody, &in); err != nil {
		return err
	}
	chat, err := chatOf(in.ChatID, nil)
	switch {
	case err != nil:
		return err
	case in.RunID == "":
		return problem.New(problem.BadRequest, "run_id is missing; it is the run that asks")
	case in.RequestID == "":
		return problem.New(problem.BadRequest, "request_id is missing; it is the question's requestId, or the interrupt's id")
	case len(in.Outcome) == 0 || in.Outcome[0] != '{':
		return problem.New(problem.BadRequest, "outcome is missing or no object; it is the answer")
	}
	ctx, cancel := s.acting()
	defer cancel()
	answered, err := s.cfg.Turns.Answer(ctx, turns.AnswerRequest{Realm: identity(r.Context()).Realm, ChatID: chat, RunID: subjects.RunID(in.RunID),
		RequestID: in.RequestID, Outcome: in.Outcome, Resume: s.resumeInput, Header: forwarded(r.Header, s.cfg.ForwardHeaders),
		Trace: tracing.Of(r.Context())})
	traceRun(tracing.Current(r.Context()), chat, subjects.RunID(in.RunID))
	if err != nil {
		return s.turnFailure(err, errNoQuestion)
	}
	said := map[string]any{"status": "accepted"}
	if answered.Next != "" {
		said["run_id"] = answered.Next
	}
	return writeJSON(w, said)
}

// decode reads a body that is one JSON object of at most limit bytes.
func decode(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	body, err := readBody(w, r, limit)
	if err != nil {
		return err
	}
	return problem.Decode(body, v)
}
