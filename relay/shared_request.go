package relay

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/rejoin/rejoin/internal/problem"
)

const (
	// maxShared is how many chats one stream may bring: more than a page shows, and few enough
	// for a goroutine and a subscription each.
	maxShared = 64

	// maxSharedBody has room for as many chat ids of the largest size, every byte of them
	// escaped.
	maxSharedBody = 2 * maxBody
)

// sharedFields are those of the body of POST /chats/live.
type sharedFields struct {
	Protocol json.RawMessage   `json:"protocol"`
	Chats    []json.RawMessage `json:"chats"`
	Synced   bool              `json:"synced"`
}

// placeFields are those of one of its chats.
type placeFields struct {
	ChatID   *string     `json:"chat_id"`
	RunID    string      `json:"run_id"`
	AfterSeq problem.Int `json:"after_seq"`
}

// parseShared reads the body of POST /chats/live: what to watch, in the order of the request.
func parseShared(w http.ResponseWriter, r *http.Request) ([]watch, error) {
	body, err := readBody(w, r, maxSharedBody)
	if err != nil {
		return nil, err
	}
	var in sharedFields
	if err := problem.Decode(body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Protocol == nil:
		return nil, problem.New(problem.BadRequest, "protocol is missing; allowed is 1")
	case string(in.Protocol) != "1":
		return nil, problem.New(problem.UnsupportedProtocol, "protocol must be 1")
	case len(in.Chats) < 1 || len(in.Chats) > maxShared:
		return nil, problem.New(problem.BadRequest, "chats has %d entries; allowed are 1 to %d", len(in.Chats), maxShared)
	}
	chats := make([]watch, 0, len(in.Chats))
	at := map[string]int{}
	for i, raw := range in.Chats {
		q, err := parsePlace(raw, in.Synced)
		if p := (*problem.Error)(nil); errors.As(err, &p) {
			return nil, problem.New(p.Code, "chats[%d]: %s", i, p.Detail)
		}
		if first, twice := at[q.chat]; twice {
			return nil, problem.New(problem.BadRequest, "chats[%d]: chat_id is that of chats[%d]; each chat may stand there once", i, first)
		}
		at[q.chat] = i
		chats = append(chats, q)
	}
	return chats, nil
}

func parsePlace(raw json.RawMessage, synced bool) (watch, error) {
	if raw[0] != '{' {
		return watch{}, problem.New(problem.BadRequest, "an object is needed, with chat_id")
	}
	var in placeFields
	if err := problem.Decode(raw, &in); err != nil {
		return watch{}, err
	}
	return fields{ChatID: in.ChatID, RunID: in.RunID, AfterSeq: in.AfterSeq, Synced: synced}.watch(false)
}
