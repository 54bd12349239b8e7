package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/subjects"
)

func TestATurnComesBackAsItWas(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	want := turn("c", 300)
	want.Realm, want.Owner, want.TurnID, want.Generation = "t", "o", "turn-1", 7
	f.append(f.History, want)
	got, err := f.Read(t.Context(), "t", "c", 0)
	require.NoError(t, err)
	require.Equal(t, []history.Turn{want}, got, "byte for byte")

	shown, err := json.Marshal(got[0])
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(shown, &keys))
	require.ElementsMatch(t, []string{"run_id", "kind", "input", "events", "started_at", "ended_at", "reason"}, mapKeys(keys))
	require.NotContains(t, string(shown), "turn-1")
}

func mapKeys(m map[string]any) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

func TestATurnWithoutAnythingIsATurn(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	f.append(f.History, history.Turn{ChatID: "c", RunID: subjects.NewRunID(0)})
	got, err := f.Read(t.Context(), "", "c", 0)
	require.NoError(t, err)
	require.Len(t, got, 1)
	shown, err := json.Marshal(got[0])
	require.NoError(t, err)
	require.Contains(t, string(shown), `"input":null,"events":[],"reason":""}`)
}

func TestNewestTurnsComeNewestLast(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	var all []history.Turn
	for range 110 {
		all = append(all, turn("c", 100))
	}
	ids := f.append(f.History, all...)
	f.append(f.History, turn("d", 100))
	for limit, want := range map[int]int{0: history.DefaultLimit, 1: 1, 7: 7, 100: 100} {
		got, err := f.Read(t.Context(), "", "c", limit)
		require.NoError(t, err)
		require.Len(t, got, want)
		for i := range got {
			require.Equal(t, ids[len(ids)-want+i], got[i].RunID)
		}
	}
	for _, limit := range []int{-1, 101} {
		_, err := f.Read(t.Context(), "", "c", limit)
		require.ErrorIs(t, err, history.ErrLimit)
		require.ErrorContains(t, err, "0 … 100")
	}
}

func realm(t *testing.T, tenant string) subjects.Realm {
	t.Helper()
	r, err := subjects.NewRealm(tenant, "")
	require.NoError(t, err)
	return r
}

func TestChatsAndRealmsAreApart(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	names := []string{"a.b", "a_b", "A", "a", "*", ">", "é", "e\u0301", "\x00", strings.Repeat("*", 256)}
	want := map[string]history.Turn{}
	for _, tenant := range append(names[:len(names):len(names)], "") {
		for _, chat := range names {
			one := turn(chat, 100)
			one.Realm = realm(t, tenant)
			f.append(f.History, one)
			want[tenant+"/"+chat] = one
		}
	}
	for _, tenant := range append(names[:len(names):len(names)], "") {
		for _, chat := range names {
			got, err := f.Read(t.Context(), realm(t, tenant), chat, 0)
			require.NoError(t, err)
			require.Equal(t, []history.Turn{want[tenant+"/"+chat]}, got)
		}
	}
	got, err := f.Read(t.Context(), "", "nobody", 0)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestAppendedTwiceIsStoredOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	first := turn("c", 100)
	f.append(f.History, first)
	for range 16 {
		f.append(f.History, turn("c", 100), first)
		has, err := f.Has(t.Context(), "", "c", first.RunID)
		require.NoError(t, err)
		require.True(t, has)
	}
	require.EqualValues(t, 17, f.messages())
	has, err := f.Has(t.Context(), "", "c", subjects.NewRunID(0))
	require.NoError(t, err)
	require.False(t, has)
	has, err = f.Has(t.Context(), "", "d", first.RunID)
	require.NoError(t, err)
	require.False(t, has)
}

func TestALargeTurnIsStoredInParts(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	turns := []history.Turn{turn("c", 100), turn("c", 1<<20), turn("c", 63<<10), turn("c", 62<<10), turn("c", 100)}
	f.append(f.History, turns...)
	got, err := f.Read(t.Context(), "", "c", 0)
	require.NoError(t, err)
	require.Equal(t, turns, got)
	require.Greater(t, f.messages(), uint64(20))
	f.append(f.History, turns[1])
	has, err := f.Has(t.Context(), "", "c", turns[1].RunID)
	require.NoError(t, err)
	require.True(t, has)
}

func TestFullSizedMessagesAreRead(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	want := turn("c", 2<<20)
	f.append(f.History, want)
	got, err := f.Read(t.Context(), "", "c", 0)
	require.NoError(t, err)
	require.Equal(t, []history.Turn{want}, got)
}

func TestReadIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	turns := []history.Turn{turn("c", 3<<20), turn("c", 3<<20), turn("c", 3<<20)}
	ids := f.append(f.History, turns...)
	require.Equal(t, ids[1:], f.runsOf(f.History, "c"), "two of 3 MiB fit into 8")
	huge := turn("c", 9<<20)
	f.append(f.History, huge)
	require.Equal(t, []subjects.RunID{huge.RunID}, f.runsOf(f.History, "c"), "the newest one comes whatever its size")
}

// Writers of one chat who come at the same time lose nothing and store nothing twice.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	const writers, each = 6, 5
	var mu sync.Mutex
	want := map[subjects.RunID]history.Turn{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				one := turn("c", 100)
				if (w+i)%3 == 0 {
					one = turn("c", 150<<10)
				}
				mu.Lock()
				want[one.RunID] = one
				mu.Unlock()
				var both sync.WaitGroup // whoever saves twice at once saves once
				for range 1 + i%2 {
					both.Go(func() {
						if err := f.Append(t.Context(), one); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		})
	}
	wg.Wait()
	got, err := f.Read(t.Context(), "", "c", history.MaxLimit)
	require.NoError(t, err)
	require.Len(t, got, writers*each)
	for _, one := range got {
		require.Equal(t, want[one.RunID], one)
		delete(want, one.RunID)
	}
}

// The run of a chat that was stopped may still be saving when its successor has ended.
func TestATurnSavedLateStandsWhereItWasStarted(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	at := func(generation uint64, second int) history.Turn {
		one := turn("c", 100)
		one.Generation, one.StartedAt = generation, noon.Add(time.Duration(second)*time.Second)
		one.EndedAt = noon.Add(time.Hour) // all are saved at once
		return one
	}
	a, b, late := at(5, 0), at(8, 20), at(6, 10)
	anew := at(1, 900) // the chat was idle for long; its generations began again
	skewed := at(2, 890)
	ids := f.append(f.History, a, b, late, anew, skewed)
	require.Equal(t, []subjects.RunID{ids[0], ids[2], ids[1], ids[3], ids[4]}, f.runsOf(f.History, "c"))
}

// OPS-04: the clocks of those who answered say nothing of the order. One that is hours ahead
// answers before one that is behind, in a chat whose generations begin anew in between.
func TestOPS04_ClocksDoNotOrderTurns(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	at := func(generation uint64, off, took time.Duration) history.Turn {
		one := turn("c", 100)
		one.Generation, one.StartedAt = generation, noon.Add(off)
		one.EndedAt = one.StartedAt.Add(took)
		return one
	}
	ahead, behind := at(7, 5*time.Hour, 0), at(1, -10*time.Minute, 0)
	leapt := at(2, 0, -time.Hour) // its clock was put back meanwhile
	ids := f.append(f.History, ahead, behind, leapt)
	require.Equal(t, ids, f.runsOf(f.History, "c"))

	// A run that was still saving is found by how long it took, whatever its clock.
	late := at(5, 9*time.Hour, 10*time.Minute)
	ids = f.append(f.History, at(6, -9*time.Hour, time.Minute), late)
	require.Equal(t, []subjects.RunID{ids[1], ids[0]}, f.runsOf(f.History, "c")[3:])
}

func TestBadTurnsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for says, spoil := range map[string]func(*history.Turn){
		`run id "x"`:             func(h *history.Turn) { h.RunID = "x" },
		"chat id: empty":         func(h *history.Turn) { h.ChatID = "" },
		"chat id: not valid UTF": func(h *history.Turn) { h.ChatID = "\xff" },
		"realm: ":                func(h *history.Turn) { h.Realm = "a.b" },
		"want a JSON object":     func(h *history.Turn) { h.Input = []byte(`[]`) },
		"its input is":           func(h *history.Turn) { h.Input = []byte(`{"a":}`) },
		"want a JSON array":      func(h *history.Turn) { h.Events = []byte(`{}`) },
		"its events are":         func(h *history.Turn) { h.Events = []byte(`[{}{}]`) },
		"year outside":           func(h *history.Turn) { h.EndedAt = time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		one := turn("c", 100)
		spoil(&one)
		err := f.Append(t.Context(), one)
		require.ErrorIs(t, err, history.ErrTurn, says)
		require.ErrorContains(t, err, says)
	}
	huge := turn("c", 100)
	huge.Events = fmt.Appendf(nil, `[{"a":"%s"}]`, strings.Repeat("x", history.MaxBytes))
	require.ErrorIs(t, f.Append(t.Context(), huge), history.ErrTooLarge)
	require.Zero(t, f.messages())
	_, err := f.Read(t.Context(), "", strings.Repeat("c", 257), 0)
	require.ErrorIs(t, err, subjects.ErrTooLong)
}

func TestTooManyPartsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 32 << 10})
	require.ErrorIs(t, f.Append(t.Context(), turn("c", 8<<20)), history.ErrTooLarge)
	require.Zero(t, f.messages())
}

// Everything is read at the leader: a replica that lags could show less than was saved.
func TestNoReplicaIsAsked(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	c := subjects.HistoryConfig(1)
	c.AllowDirect = false
	_, err := f.js.UpdateStream(t.Context(), c)
	require.NoError(t, err)
	ids := f.append(f.History, turn("c", 100), turn("c", 100))
	require.Equal(t, ids, f.runsOf(f.History, "c"))
}

// A chat keeps a number of messages; a turn whose beginning has left is not shown.
func TestOldTurnsLeaveWhole(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	c := subjects.HistoryConfig(1)
	c.MaxMsgsPerSubject = 4
	_, err := f.js.UpdateStream(t.Context(), c)
	require.NoError(t, err)
	ids := f.append(f.History, turn("c", 100), turn("c", 150<<10), turn("c", 100))
	require.Equal(t, ids[1:], f.runsOf(f.History, "c"))
	ids = append(ids, f.append(f.History, turn("c", 100))...)
	require.Equal(t, ids[2:], f.runsOf(f.History, "c"))
}

func TestAStreamThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	require.NoError(t, f.js.DeleteStream(t.Context(), subjects.HistoryStream))
	require.ErrorIs(t, f.Append(t.Context(), turn("c", 100)), history.ErrNoStream)
	_, err := f.Read(t.Context(), "", "c", 0)
	require.ErrorIs(t, err, history.ErrNoStream)
	_, err = f.js.CreateStream(t.Context(), subjects.HistoryConfig(1))
	require.NoError(t, err)
	require.Len(t, f.append(f.History, turn("c", 100)), 1)
}
