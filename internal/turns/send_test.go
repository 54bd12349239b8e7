package turns_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/subjects"
)

func TestSendOptionsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	q := turns.New(f.store, turns.Config{MaxInput: 1000})
	long := strings.Repeat("x", 257)
	headers := map[string]string{}
	for i := range 65 {
		headers[fmt.Sprint(i)] = ""
	}
	for name, tc := range map[string]struct {
		change func(*turns.SendRequest)
		says   string
	}{
		"no chat":          {func(r *turns.SendRequest) { r.ChatID = "" }, "chat_id"},
		"chat no UTF-8":    {func(r *turns.SendRequest) { r.ChatID = "\xff" }, "chat_id"},
		"no realm":         {func(r *turns.SendRequest) { r.Realm = "a.b" }, "realm"},
		"owner too long":   {func(r *turns.SendRequest) { r.Owner = long }, "owner"},
		"kind too long":    {func(r *turns.SendRequest) { r.Kind = long[:65] }, "kind"},
		"token too long":   {func(r *turns.SendRequest) { r.ClientToken = long[:129] }, "client_token"},
		"on_active":        {func(r *turns.SendRequest) { r.OnActive = "wait" }, "reject, queue and supersede"},
		"heartbeat":        {func(r *turns.SendRequest) { r.Kind, r.OnActive = turns.KindHeartbeat, runs.Supersede }, "never supersedes"},
		"no input":         {func(r *turns.SendRequest) { r.Input = nil }, "input is missing"},
		"input no object":  {func(r *turns.SendRequest) { r.Input = []byte(`[1]`) }, "no JSON object"},
		"input no JSON":    {func(r *turns.SendRequest) { r.Input = []byte(`{"text":"a"`) }, "no JSON object"},
		"input no UTF-8":   {func(r *turns.SendRequest) { r.Input = []byte("{\"text\":\"\xff\"}") }, "no JSON object"},
		"input of nothing": {func(r *turns.SendRequest) { r.Input = []byte(`{}`) }, "neither text nor messages"},
		"text no string":   {func(r *turns.SendRequest) { r.Input = []byte(`{"text":1}`) }, "no string"},
		"messages no list": {func(r *turns.SendRequest) { r.Input = []byte(`{"messages":"a"}`) }, "no array"},
		"input too large":  {func(r *turns.SendRequest) { r.Input = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1000)) }, "allowed are 1000"},
		"too many headers": {func(r *turns.SendRequest) { r.Header = headers }, "forwarded headers"},
	} {
		r := message("c", "")
		tc.change(&r)
		_, err := q.Send(t.Context(), r)
		require.ErrorIs(t, err, turns.ErrOptions, name)
		require.ErrorContains(t, err, tc.says, name)
		require.Empty(t, f.pointer("c").RunID, name)
	}
}

// When Send returns, everything is there, in this order.
func TestSendStoresPointsAndQueues(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	input := json.RawMessage("{\n  \"text\": \"<b>&amp;\u2028é\", \"x\":1.0}")
	var seen []error
	stop, err := f.store.WatchPointer("", "c", func() {
		// The pointer just moved: what it names is whole already.
		p, err := f.store.Pointer(t.Context(), "", "c")
		if err == nil {
			_, err = f.store.Entry(t.Context(), p.RunID)
		}
		if err == nil {
			_, err = f.queue.Turn(t.Context(), p.RunID)
		}
		seen = append(seen, err)
	})
	require.NoError(t, err)
	r := turns.SendRequest{ChatID: "c", Owner: "o", Kind: "mine", Input: input, Header: map[string]string{"X-A": "b"}, ClientToken: "t"}
	sent, err := f.queue.Send(t.Context(), r)
	require.NoError(t, err)
	require.False(t, sent.Behind || sent.Repeated || sent.Steered)
	e := f.entry(sent.RunID)
	require.Equal(t, runs.StateQueued, e.State)
	require.Equal(t, sent.TurnID, e.TurnID)
	require.Equal(t, "mine", e.Kind)
	require.Empty(t, e.Producer)
	require.Equal(t, sent.RunID, f.pointer("c").RunID)
	require.Equal(t, []subjects.RunID{sent.RunID}, f.waiting())
	turn, err := f.queue.Turn(t.Context(), sent.RunID)
	require.NoError(t, err)
	require.Equal(t, string(input), string(turn.Input), "byte for byte")
	require.Equal(t, r.Header, turn.Header)
	require.Equal(t, "o", turn.Owner)
	stop()
	require.NoError(t, f.store.Conn().Flush())
	for _, err := range seen {
		require.NoError(t, err)
	}

	again, err := f.another().Send(t.Context(), r)
	require.NoError(t, err)
	require.True(t, again.Repeated)
	require.Equal(t, sent.RunID, again.RunID)
	require.Equal(t, sent.TurnID, again.TurnID)
	require.Len(t, f.waiting(), 1)
}

// Whoever sends may die between any two steps.
func TestSendThatDiedIsFinishedOrRemoved(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	claim := func(chat string) *runs.Entry {
		e := &runs.Entry{RunID: f.store.NewRunID(), ChatID: chat, Kind: "send", TurnID: "t", Generation: 1, State: runs.StateQueued, Writer: "w"}
		require.NoError(t, f.store.PutTurn(t.Context(), e.RunID, []byte("{}\n{}")))
		first := subjects.Record{Kind: subjects.KindStart, Writer: "w"}
		var err error
		e.FirstStreamSeq, err = f.store.Append(t.Context(), e.RunID, &first, 0)
		require.NoError(t, err)
		return e
	}
	turnOnly, parts := f.store.NewRunID(), f.store.NewRunID()
	require.NoError(t, f.store.PutTurn(t.Context(), turnOnly, []byte("{}\n{}")))
	require.NoError(t, f.store.PutTurn(t.Context(), parts, make([]byte, 3<<20)))
	s, err := f.js.Stream(t.Context(), subjects.BucketStream)
	require.NoError(t, err)
	head := jetstream.WithPurgeSubject(subjects.KeySubject(subjects.TurnKey(parts)))
	require.NoError(t, s.Purge(t.Context(), head)) // it died before that was stored
	record := claim("record")
	entry := claim("entry")
	require.NoError(t, f.store.CreateEntry(t.Context(), entry))
	pointed := claim("pointed")
	require.NoError(t, f.store.CreateEntry(t.Context(), pointed))
	p := f.pointer("pointed")
	p.Advance(pointed.RunID, 1, "token")
	require.NoError(t, f.store.SetPointer(t.Context(), p))
	require.Empty(t, f.waiting())

	j := runs.NewJanitor(f.store, runs.JanitorConfig{Lease: time.Millisecond, Tidy: time.Nanosecond})
	f.sweepUntil(j, func() bool {
		_, err := f.store.Entry(t.Context(), entry.RunID)
		return errors.Is(err, runs.ErrNotFound) && f.keys(turnOnly)+f.keys(parts)+f.keys(record.RunID)+f.keys(entry.RunID) == 0
	})
	// A repetition does what was left undone, and a janitor would have too.
	r := message("pointed", runs.Reject)
	r.ClientToken = "token"
	sent, err := f.queue.Send(t.Context(), r)
	require.NoError(t, err)
	require.True(t, sent.Repeated)
	require.Equal(t, []subjects.RunID{pointed.RunID}, f.waiting())
	for _, chat := range []string{"record", "entry"} {
		f.send(chat, runs.Reject)
	}
}

// A turn that its sender did not live to queue is queued by a janitor.
func TestTurnThatIsNotQueuedIsRepaired(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	sent := f.send("c", runs.Reject)
	s, err := f.js.Stream(t.Context(), subjects.TurnsStream)
	require.NoError(t, err)
	require.NoError(t, s.Purge(t.Context()))
	f.sweepUntil(runs.NewJanitor(f.store, runs.JanitorConfig{}), func() bool { return len(f.waiting()) == 1 })
	require.Equal(t, []subjects.RunID{sent.RunID}, f.waiting())
	require.True(t, f.entry(sent.RunID).Active())
}

func TestSEND01TwentySendsThatReject(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	var mu sync.Mutex
	var won []subjects.RunID
	named := map[subjects.RunID]int{}
	atOnce(20, func(i int) {
		sent, err := queues[i%2].Send(t.Context(), message("c", runs.Reject))
		mu.Lock()
		defer mu.Unlock()
		var active *runs.AlreadyStreamingError
		switch {
		case err == nil:
			won = append(won, sent.RunID)
		case errors.As(err, &active):
			named[active.RunID]++
		default:
			t.Error(err)
		}
	})
	require.Len(t, won, 1)
	require.Equal(t, map[subjects.RunID]int{won[0]: 19}, named, "each loser can attach to the winner")
	require.Equal(t, won, f.waiting())
	require.EqualValues(t, 1, f.pointer("c").Generation)
}

func TestSEND01OneTokenTwentyTimes(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	for _, on := range []runs.OnActive{runs.Reject, runs.Behind, runs.Supersede} {
		var mu sync.Mutex
		first, ids := 0, map[subjects.RunID]bool{}
		atOnce(20, func(i int) {
			r := message(string(on), on)
			r.ClientToken = "same"
			sent, err := queues[i%2].Send(t.Context(), r)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[sent.RunID] = true
			if !sent.Repeated {
				first++
			}
		})
		require.Len(t, ids, 1, on)
		require.Equal(t, 1, first, on)
	}
	require.Len(t, f.waiting(), 3)
}

func TestSEND01TwentySendsThatQueue(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	queues := []*turns.Queue{f.queue, f.another()}
	all := make([]turns.Sent, 20)
	atOnce(20, func(i int) {
		var err error
		if all[i], err = queues[i%2].Send(t.Context(), message("c", runs.Behind)); err != nil {
			t.Error(err)
		}
	})
	p := f.pointer("c")
	order := append([]subjects.RunID{p.RunID}, p.Queue...)
	require.Len(t, order, 20)
	for _, sent := range all {
		require.Contains(t, order, sent.RunID)
	}
	generation := uint64(0)
	for i, id := range order {
		require.Equal(t, []subjects.RunID{id}, f.waiting(), "one at a time, in order")
		p := f.pointer("c")
		require.Equal(t, id, p.RunID)
		require.Greater(t, p.Generation, generation)
		require.Equal(t, p.Generation, f.entry(id).Generation)
		generation = p.Generation
		require.NoError(t, f.begin(id, false))
		f.done(id)
		if i%2 == 0 {
			f.end(id)
		} else {
			f.twice(id)
		}
	}
	require.Empty(t, f.waiting())
	require.Empty(t, f.pointer("c").Queue)
}

// done takes a turn out of the work queue.
func (f *fabric) done(id subjects.RunID) {
	f.Helper()
	s, err := f.js.Stream(f.Context(), subjects.TurnsStream)
	require.NoError(f, err)
	subject, err := subjects.TurnSubject("send", id)
	require.NoError(f, err)
	m, err := s.GetLastMsgForSubject(f.Context(), subject)
	require.NoError(f, err)
	require.NoError(f, s.DeleteMsg(f.Context(), m.Sequence))
}
