package chats_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

func (f *fabric) steer(relay int, text, more string) answer {
	f.Helper()
	a := f.post(relay, "/chat/steer-send", `{"chat_id":"c","input":{"text":%q}%s}`, text, more)
	require.Equal(f, http.StatusAccepted, a.Status, a.Body)
	return a
}

// A run that takes messages is given them in order, those from before its start too.
func TestSteeringARunThatTakesMessages(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", "")
	require.Equal(t, id, f.steer(1, "m1", "").RunID, "it has not begun")
	r := f.begin(true)
	a := f.steer(0, "m2", `,"client_token":"t"`)
	require.Equal(t, id, a.RunID)
	require.Equal(t, a.TurnID, f.steer(1, "m2", `,"client_token":"t"`).TurnID, "repeated")
	f.steer(1, "m3", "")
	for i := range 3 {
		c, err := r.NextControl(f.within())
		require.NoError(t, err)
		require.Equal(t, producer.ControlInput, c.Kind)
		require.Equal(t, fmt.Sprint(i+1), c.ID)
		require.JSONEq(t, fmt.Sprintf(`{"text":"m%d"}`, i+1), string(c.Body))
	}
	// It takes no more: the next one is a turn of its own, and nothing is lost.
	missed, err := r.CloseInputs(f.within(), 3)
	require.NoError(t, err)
	require.Empty(t, missed)
	next := f.steer(0, "m4", "").RunID
	require.NotEqual(t, id, next)
	require.Equal(t, next, f.begin(true).ID())
}

// A run that takes none is replaced, and in an idle chat it is a message like any other.
func TestSteeringARunThatTakesNone(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	first := f.steer(0, "hi", "").RunID
	r := f.begin(false)
	require.Equal(t, first, r.ID())
	turn, err := f.queue.Turn(f.within(), first)
	require.NoError(t, err)
	require.Equal(t, "steer", turn.Kind)
	f.Publish(r, 1, 5)
	second := f.steer(1, "no, this", "").RunID
	require.NotEqual(t, first, second)
	end := f.watch(0, harness.Live("c", "run_id", second), func(*harness.Seen) bool { return true })
	require.Nil(t, end.End)
	e, err := f.link.Store.Entry(f.within(), first)
	require.NoError(t, err)
	require.Equal(t, subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: second}, *e.End)
	require.Equal(t, second, f.begin(false).ID())

	a := f.post(0, "/chat/steer-send", `{"chat_id":"c","kind":"heartbeat","input":{"text":"x"}}`)
	require.Equal(t, http.StatusConflict, a.Status, "a heartbeat never supersedes")
	require.Equal(t, second, a.RunID)
}

// A message that is too large for one message of the broker still gets through.
func TestSteeringWithALongConversation(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	id := f.send("c", "")
	f.begin(true)
	long := make([]byte, 2<<20)
	for i := range long {
		long[i] = 'x'
	}
	next := f.steer(0, string(long), "").RunID
	require.NotEqual(t, id, next, "as a turn of its own")
	turn, err := f.queue.Turn(f.within(), next)
	require.NoError(t, err)
	require.Len(t, turn.Input, len(long)+len(`{"text":""}`))
}
