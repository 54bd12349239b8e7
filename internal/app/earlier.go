package app

import (
	"context"
	"errors"
	"log/slog"

	events "github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/agui"
)

// earlierTurns is how many saved turns of a chat an agent is told that keeps none itself.
const earlierTurns = 50

// earlier gives the chat's earlier messages and its state out of the built-in history, for a
// turn that is only a text. Without a history there are none.
func earlier(store *runs.Store, saved *history.History, log *slog.Logger) func(context.Context, *agent.Request) (agui.Earlier, error) {
	if saved == nil {
		return nil
	}
	return func(ctx context.Context, r *agent.Request) (agui.Earlier, error) {
		all, err := saved.Read(ctx, r.Realm, r.ChatID, earlierTurns)
		if err != nil {
			return agui.Earlier{}, err
		}
		next := &history.Turn{RunID: r.RunID, Kind: r.Kind, Input: r.Input}
		if r.Kind == turns.KindRetry || r.Kind == turns.KindEdit {
			e, err := store.Entry(ctx, r.RunID)
			if err != nil {
				return agui.Earlier{}, err
			}
			next.Generation = e.Generation
		}
		var messages events.Messages
		var state events.State
		for _, t := range history.Before(all, next) {
			lines, err := events.ArrayLines(t.Events)
			if err == nil {
				err = errors.Join(messages.AddTurn(string(t.RunID), t.Input, lines), state.AddTurn(t.Input, lines))
			}
			if err != nil {
				log.Warn("a saved turn cannot be told to the agent as a whole", "run", t.RunID, "error", err)
			}
		}
		return agui.Earlier{Messages: messages.List(), State: state.JSON()}, nil
	}
}
