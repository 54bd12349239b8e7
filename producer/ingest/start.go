package ingest

import (
	"errors"
	"net/http"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// kindHeartbeat is the kind of run that the application starts by itself: it never
// takes the chat from another.
const kindHeartbeat = "heartbeat"

// start serves POST /runs.
func (h *Handler) start(w http.ResponseWriter, r *http.Request) error {
	in, err := readObject(w, r)
	if err != nil {
		return err
	}
	o, err := options(in)
	if err != nil {
		return err
	}
	o.Tenant = h.cfg.Tenant(r)
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
	answer(w, http.StatusCreated, map[string]any{"run_id": id, "chat_id": chat})
	return nil
}

// options reads the body of POST /runs. What Start itself checks is left to it.
func options(in object) (o producer.StartOptions, err error) {
	var active string
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"chat_id", &o.ChatID}, {"owner", &o.Owner}, {"kind", &o.Kind},
		{"client_token", &o.ClientToken}, {"on_active", &active},
	} {
		if *f.to, err = in.text(f.name); err != nil {
			return o, err
		}
	}
	switch {
	case in.has("on_active") && active == "":
		return o, badRequest("on_active is empty; allowed are supersede and reject")
	case active == "queue":
		return o, badRequest("on_active is queue, which a run over HTTP cannot do; allowed are supersede and reject")
	case o.Kind == kindHeartbeat && active == "":
		active = string(producer.Reject)
	case o.Kind == kindHeartbeat && active == string(producer.Supersede):
		return o, badRequest("a run of kind heartbeat never supersedes; allowed is on_active reject")
	}
	o.OnActive = producer.OnActive(active)
	return o, nil
}
