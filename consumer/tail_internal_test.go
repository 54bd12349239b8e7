package consumer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// hear applies records as they come live.
func (t *tail) hear(records ...subjects.Record) {
	for _, r := range records {
		t.apply(&runs.Stored{Record: r})
	}
}

func (st standing) woken() bool {
	select {
	case <-st.wake:
		return true
	default:
		return false
	}
}

var done = subjects.End{Reason: subjects.ReasonDone}

func ended(last uint64) subjects.Record { return subjects.EndRecord(done, last, "w") }

func TestTailTellsAReaderWhereItStands(t *testing.T) {
	t.Parallel()
	tail := newTail("0-x")
	st := tail.after(0)
	require.False(t, st.ok || st.end != nil || st.behind > 0)

	tail.hear(events(7, 2, "f\ng")) // the first that is heard
	require.True(t, st.woken())
	require.EqualValues(t, 2, tail.after(5).block.last-5)
	require.EqualValues(t, 7, tail.after(0).behind)
	require.EqualValues(t, 3, tail.after(4).behind)
	require.True(t, tail.after(5).ok)
	require.True(t, tail.after(6).ok)

	st = tail.after(7)
	require.False(t, st.ok || st.behind > 0 || st.woken())
	tail.hear(events(7, 2, "f\ng"), events(3, 1, "c"), subjects.Record{Kind: subjects.KindTakeover, Last: 7})
	require.False(t, st.woken(), "nothing new")
	require.True(t, tail.after(5).ok, "what is old leaves the newest alone")

	tail.hear(events(8, 1, "h"))
	require.True(t, st.woken())
	require.Equal(t, "f\ng", string(tail.after(5).block.body))
	require.Equal(t, "h", string(tail.after(7).block.body))

	tail.hear(events(10, 1, "k")) // 9 was lost
	require.EqualValues(t, 3, tail.after(7).behind)
	require.EqualValues(t, 2, tail.after(8).behind)
	require.Equal(t, "k", string(tail.after(9).block.body))

	tail.hear(ended(11)) // and 11
	require.EqualValues(t, 1, tail.after(10).behind)
	require.Nil(t, tail.after(10).end)
	require.Equal(t, &done, tail.after(11).end)
	require.True(t, tail.finished())
}

func TestTailWakesForWhatItCannotPutTogether(t *testing.T) {
	t.Parallel()
	tail := newTail("0-x")
	tail.hear(events(1, 1, "a"))
	st := tail.after(1)
	tail.hear(part(1, 1, 3, "b"))
	require.False(t, st.woken())
	tail.hear(part(1, 3, 3, "d"))
	require.True(t, st.woken())
	require.EqualValues(t, 1, tail.after(1).behind)
	st = tail.after(2)
	tail.hear(events(2, 1, "late"), part(2, 2, 3, "x"))
	require.True(t, st.woken())
}

func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	const n = tailBlocks + 10
	tail := newTail("0-x")
	for seq := uint64(1); seq <= n; seq++ {
		tail.hear(events(seq, 1, "e"))
	}
	require.Len(t, tail.blocks, tailBlocks)
	require.Equal(t, tailBlocks, tail.bytes)
	require.EqualValues(t, n, tail.after(0).behind)
	require.False(t, tail.after(9).ok)
	for seq := uint64(10); seq < n; seq++ {
		require.Equal(t, seq+1, tail.after(seq).block.first)
	}

	half := strings.Repeat("x", tailBytes/2)
	tail.hear(events(n+1, 1, half), events(n+2, 1, half), events(n+3, 1, half))
	require.Len(t, tail.blocks, 2)
	require.Equal(t, tailBytes, tail.bytes)
	tail.hear(events(n+4, 1, half+half+half))
	require.Len(t, tail.blocks, 1, "the newest stays, whatever its size")
	tail.hear(events(n+5, 1, "e"))
	require.Len(t, tail.blocks, 1)
	require.Equal(t, 1, tail.bytes)
}

func TestTailOfALostLog(t *testing.T) {
	t.Parallel()
	saved := subjects.End{Persisted: true, Reason: subjects.ReasonDone}
	tail := newTail("0-x")
	tail.hear(events(5, 1, "e"))
	st := tail.after(5)
	tail.lose(&runs.Entry{Seq: 9}) // active
	require.True(t, st.woken())
	require.True(t, tail.after(3).lost)
	require.True(t, tail.after(4).ok, "what it still has")
	require.False(t, tail.after(5).lost)
	require.Zero(t, tail.kept())
	require.False(t, tail.finished() || tail.departed(3))

	tail.lose(&runs.Entry{Seq: 9, End: &saved})
	require.True(t, tail.after(8).lost)
	require.Equal(t, &saved, tail.after(9).end)
	require.True(t, tail.finished())
	require.True(t, tail.departed(8))
	require.False(t, tail.departed(9))
	require.Zero(t, tail.kept())

	other := newTail("0-x")
	other.hear(events(5, 1, "e"))
	other.lose(&runs.Entry{Seq: 9, End: &done})
	require.False(t, other.departed(3), "nobody saved it: what is left is all there will be")
	require.Equal(t, &done, other.after(3).end)
	other.hear(events(6, 1, "f")) // it was out of sight
	require.False(t, other.after(3).lost)
	require.NotZero(t, other.kept())

	gone := newTail("0-x")
	gone.lose(nil)
	require.True(t, gone.after(0).gone && gone.finished() && gone.departed(0))
}

func TestTailOfABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	tail := newTail("0-x")
	tail.hear(events(5, 1, "e"))
	st := tail.after(5)
	tail.unanswered()
	require.True(t, st.woken())
	st = tail.after(5)
	require.True(t, st.away)
	require.False(t, tail.after(3).away, "what is known comes first")
	tail.unanswered()
	require.False(t, st.woken())
	tail.hear(events(5, 1, "e"))
	require.True(t, st.woken())
	require.False(t, tail.after(5).away)
	tail.unanswered()
	tail.hear(ended(5))
	require.Equal(t, &done, tail.after(5).end)

	require.True(t, tail.takeHeard())
	require.False(t, tail.takeHeard())
}
