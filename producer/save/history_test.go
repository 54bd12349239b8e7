package save_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/producer/save"
	"github.com/rejoin/rejoin/test/harness"
)

func TestTheHistoryHasWhatWasSaved(t *testing.T) {
	t.Parallel()
	store := harness.New(t, harness.Config{}).Connect().Store
	h := history.Open(store)
	s := save.NewHistory(h)
	one := turn()
	require.NoError(t, s.Save(within(t, patience), one))
	require.NoError(t, s.Save(within(t, patience), one), "again is once")
	got, err := h.Read(t.Context(), one.Realm, one.ChatID, 0)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, history.Turn{Realm: one.Realm, ChatID: one.ChatID, Owner: one.Owner, TurnID: one.TurnID, Generation: one.Generation,
		RunID: one.RunID, Kind: one.Kind, Input: one.Input, Events: []byte(`[{"type":"RAW","a":1e400},{"type":"RAW","b":"\u00e9<"}]`),
		StartedAt: one.StartedAt, EndedAt: one.EndedAt, Reason: one.Reason}, got[0])

	one.Input = []byte("nonsense")
	one.RunID = "x"
	require.ErrorIs(t, s.Save(within(t, patience), one), history.ErrTurn)
}

func TestAFunctionIsASaver(t *testing.T) {
	t.Parallel()
	why := errors.New("full")
	var s save.Saver = save.Func(func(context.Context, *save.Turn) error { return why })
	require.ErrorIs(t, s.Save(t.Context(), turn()), why)
}
