package save

import (
	"context"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/history"
)

// NewHistory returns the built-in saver, which worker.Connect uses by itself: turns go to the stream HISTORY and are read
// back with GET /chat/{chat_id}/history. Its errors are those of history.Append. It is
// never stale: a turn that is saved late is kept too, and stands where it was started.
func NewHistory(h *history.History) Saver {
	return Func(func(ctx context.Context, t *Turn) error {
		return h.Append(ctx, historyTurn(t))
	})
}

func historyTurn(t *Turn) history.Turn {
	return history.Turn{
		Realm: t.Realm, ChatID: t.ChatID, Owner: t.Owner, TurnID: t.TurnID, Generation: t.Generation,
		RunID: t.RunID, Kind: t.Kind, Input: t.Input, Events: agui.AppendArray(nil, t.Events),
		StartedAt: t.StartedAt, EndedAt: t.EndedAt, Reason: t.Reason,
	}
}
