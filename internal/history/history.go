package history

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// What a call takes and gives.
const (
	// DefaultLimit is how many turns Read gives where 0 are asked for.
	DefaultLimit = 20
	// MaxLimit is how many turns Read gives at most.
	MaxLimit = 100
	// MaxBytes is the largest turn, its input and its events together.
	MaxBytes = 64 << 20
)

// History is the stream of saved turns as one process sees it. It keeps nothing that is
// not in the broker, and all of it is safe for concurrent use.
type History struct {
	store *runs.Store
	api   string // prefix of the JetStream API, with the final dot
}

// Open returns the history that belongs to a store, which has to stay open. It asks
// nothing of the broker: that the stream exists is the store's concern.
func Open(store *runs.Store) *History {
	api := "$JS.API."
	if domain := store.JetStream().Options().Domain; domain != "" {
		api = "$JS." + domain + ".API."
	}
	return &History{store: store, api: api}
}

// Append saves a turn, exactly once: a turn whose run is among the newest 17 of its
// chat is stored already and not stored again, whatever else of it differs. It returns
// nil only when the turn is stored for good. Lost answers, lost connections and other
// writers of the chat are settled, for as long as ctx lasts.
//
// Errors: ErrTurn, ErrTooLarge, and ErrNoStream where nothing was stored; otherwise it
// is unknown whether the turn is or will be stored, and appending it again is safe. Of
// a turn that was not stored whole nothing is ever seen. t must not change meanwhile.
func (h *History) Append(ctx context.Context, t Turn) error {
	a, err := h.appending(&t)
	if err != nil {
		return err
	}
	return a.store(ctx)
}

// Read gives the newest turns of a chat, newest last: at most limit of them, 0 meaning
// DefaultLimit, and no more than fit into 8 MiB, but the newest one whatever its size.
// Every turn whose Append has returned counts. A chat without any gives none, and no
// error. Realm and chat id are filled in.
//
// Errors: ErrLimit, ErrNoStream, subjects.ErrTooLong for a chat id, or what
// kept the broker from answering, also when it was asked again.
func (h *History) Read(ctx context.Context, realm subjects.Realm, chat string, limit int) ([]Turn, error) {
	switch {
	case limit < 0 || limit > MaxLimit:
		return nil, fmt.Errorf("%w: %d is not in 0 … %d", ErrLimit, limit, MaxLimit)
	case limit == 0:
		limit = DefaultLimit
	}
	subject, err := subjects.HistorySubject(realm, chat)
	if err != nil {
		return nil, err
	}
	turns, err := h.newest(ctx, subject, limit)
	if err != nil {
		return nil, err
	}
	return order(turns, realm, chat), nil
}

// Has says whether a run's turn is among the newest 17 of its chat, with one question.
// The errors are Read's.
func (h *History) Has(ctx context.Context, realm subjects.Realm, chat string, run subjects.RunID) (bool, error) {
	subject, err := subjects.HistorySubject(realm, chat)
	if err != nil {
		return false, err
	}
	last, err := h.last(ctx, subject)
	return err == nil && last.holds(run), err
}
