package ingest

import (
	"errors"
	"net/http"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// kindHeartbeat is the kind of run that the application starts by itself: it never
// takes the chat from another.
const kindHeartbeat = "heartbeat"

// start serves POST /runs.
func (h *Handler) start(w http.ResponseWriter, r *http.Request) error {
	var in startBody
	if err := decode(w, r, &in); err != nil {
		return err
	}
	o, err := in.options()
	if err != nil {
		return err
	}
	if o.Realm, o.Owner, err = auth.From(r.Context()).For(o.Owner); err != nil {
		return problem.New(problem.BadRequest, "owner is %v", err)
	}
	if err := h.runs.room(); err != nil {
		return err
	}
	run, err := h.cfg.Producer.Start(r.Context(), o)
	var before *producer.AlreadyStartedError
	switch {
	case errors.As(err, &before):
		return started(w, before.RunID, o.ChatID)
	case err != nil:
		return err
	}
	if err := h.runs.put(run); err != nil {
		return err
	}
	return started(w, run.ID(), o.ChatID)
}

func started(w http.ResponseWriter, id subjects.RunID, chat string) error {
	w.Header().Set("Location", "/runs/"+string(id))
	return answer(w, http.StatusCreated, map[string]any{"run_id": id, "chat_id": chat})
}

// startBody is the body of POST /runs.
type startBody struct {
	ChatID      string  `json:"chat_id"`
	Owner       string  `json:"owner"`
	Kind        string  `json:"kind"`
	OnActive    *string `json:"on_active"`
	ClientToken string  `json:"client_token"`
}

// options says what to start. What Start itself checks is left to it.
func (b startBody) options() (producer.StartOptions, error) {
	o := producer.StartOptions{ChatID: b.ChatID, Owner: b.Owner, Kind: b.Kind, ClientToken: b.ClientToken}
	switch {
	case b.OnActive == nil:
		o.OnActive = producer.Supersede
		if b.Kind == kindHeartbeat {
			o.OnActive = producer.Reject
		}
		return o, nil
	case *b.OnActive == "queue":
		return o, problem.New(problem.BadRequest, "on_active is queue, which a run over HTTP cannot do; allowed are supersede and reject")
	case *b.OnActive == "":
		return o, problem.New(problem.BadRequest, "on_active is empty; allowed are supersede and reject")
	case *b.OnActive == string(producer.Supersede) && b.Kind == kindHeartbeat:
		return o, problem.New(problem.BadRequest, "a run of kind heartbeat never supersedes; allowed is on_active reject")
	}
	o.OnActive = producer.OnActive(*b.OnActive)
	return o, nil
}
