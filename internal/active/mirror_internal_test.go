package active

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

func running(id subjects.RunID, revision uint64) runs.Change {
	return runs.Change{RunID: id, Revision: revision, Entry: &runs.Entry{RunID: id, ChatID: "c", State: runs.StateRunning}}
}

// doubt lets a run be doubted by two reads, and gives what the leader is to be asked.
func doubt(t *testing.T, m *mirror) doubted {
	t.Helper()
	m.beginRead()
	ask, again := m.endRead()
	require.Empty(t, ask, "a replica may lag")
	require.True(t, again)
	m.beginRead()
	ask, _ = m.endRead()
	require.Len(t, ask, 1)
	return ask[0]
}

func TestTheLeaderSettlesADoubt(t *testing.T) {
	t.Parallel()
	m := newMirror()
	m.apply(running("r", 7))
	m.settle(doubt(t, m), 7, nil)
	require.Empty(t, m.live)
	changed := m.takeChanged()
	require.Equal(t, runs.StateEnded, changed[1].State)
	require.Nil(t, changed[1].End)

	// A store that came back without its newest messages counts from there again.
	m = newMirror()
	m.apply(running("r", 7))
	m.settle(doubt(t, m), 3, running("r", 3).Entry)
	finishing := running("r", 4)
	finishing.Entry.State = runs.StateFinishing
	m.apply(finishing)
	require.Equal(t, runs.StateFinishing, m.live[""]["r"].State)
}

// What is heard while the leader is asked is newer than its answer.
func TestWhatIsHeardMeanwhileCounts(t *testing.T) {
	t.Parallel()
	m := newMirror()
	m.apply(running("r", 7))
	d := doubt(t, m)
	m.apply(running("r", 8))
	m.settle(d, 7, nil)
	require.Len(t, m.live[""], 1)
}

func TestARoomKeepsWhatItsSlowestNeeds(t *testing.T) {
	t.Parallel()
	r := newRoom(256)
	slow, fast := &Subscription{}, &Subscription{}
	r.join(slow)
	r.join(fast)
	var changes []*Run
	add := func() {
		changes = append(changes, &Run{ChatID: fmt.Sprint(len(changes))})
		r.add(changes[len(changes)-1])
	}
	for range 200 {
		add()
		_, err := fast.Take(10)
		require.NoError(t, err)
	}
	all, err := slow.Take(1000)
	require.NoError(t, err)
	require.Equal(t, changes, all)
	for range 200 {
		add()
		_, err := fast.Take(10)
		require.NoError(t, err)
		_, err = slow.Take(10)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(r.log), firstTrim, "what all have taken is not kept")
	for range 300 {
		add()
		_, err = fast.Take(10)
		require.NoError(t, err)
	}
	_, err = slow.Take(1)
	require.ErrorIs(t, err, ErrBehind)
	require.LessOrEqual(t, len(r.log), 256)
	require.True(t, r.leave(slow))
	require.False(t, r.leave(fast))
}
