package consumer

import (
	"bytes"
	"fmt"
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
	require.Equal(t, "f\ng\nh", string(tail.after(5).block.body))
	newest := tail.after(7).block
	require.Equal(t, "h", string(newest.after(7)))

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

// What a tail takes is bounded, whatever the sizes of its events, and whatever it still has is
// where it was published.
func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 200, copied, copied + 1, largestChunk, tailBytes / 3} {
		tail, n := newTail("0-x"), uint64(2*tailBytes/size+10)
		event := func(seq uint64) string {
			s := fmt.Sprint(seq)
			return s[max(0, len(s)-size):] + strings.Repeat("x", max(0, size-len(s)))
		}
		for seq := uint64(1); seq <= n; seq++ {
			tail.hear(events(seq, 1, event(seq)))
			require.LessOrEqual(t, tail.bytes, tailBytes)
		}
		oldest := tail.blocks[0].first
		require.EqualValues(t, n, tail.after(0).behind)
		require.False(t, tail.after(oldest-2).ok)
		for seq := oldest; seq <= n; seq += max(1, n/1000) {
			b := tail.after(seq - 1).block
			line, _, _ := bytes.Cut(b.after(seq-1), []byte("\n"))
			require.Equal(t, event(seq), string(line))
		}
		taken := 0
		for _, b := range tail.blocks {
			taken += b.takes()
		}
		require.Equal(t, taken, tail.bytes)
		require.Greater(t, tail.bytes, tailBytes/2)
	}

	tail := newTail("0-x")
	tail.hear(events(1, 1, "e"), events(2, 1, strings.Repeat("x", 2*tailBytes)))
	require.Len(t, tail.blocks, 1, "the newest stays, whatever its size")
	tail.hear(events(3, 1, "e"))
	require.Len(t, tail.blocks, 1)
	require.Less(t, tail.bytes, 1000)
}

// Of small events that come one by one nothing is kept but their bytes, a few times fewer than
// a broker's message has of headers, and what a reader was given stays as it was.
func TestTailKeepsSmallEventsTogether(t *testing.T) {
	t.Parallel()
	const n, size = 200, 200
	tail, message := newTail("0-x"), make([]byte, 500)
	var given []standing
	for seq := uint64(1); seq <= n; seq++ {
		body := append(message[:0], strings.Repeat(string('a'+rune(seq%26)), size)...)
		tail.hear(subjects.Record{Kind: subjects.KindEvents, Last: seq, Count: 1, Writer: "w", Body: body})
		given = append(given, tail.after(seq-1))
	}
	for i, st := range given { // message has been used again since
		seq := uint64(i) + 1
		require.Equal(t, strings.Repeat(string('a'+rune(seq%26)), size), string(st.block.after(seq-1)))
	}
	require.Less(t, tail.bytes, n*size*3/2)
	require.Less(t, len(tail.blocks), 15)
	tail.hear(events(1, 1, "old"), events(n+2, 1, "later"))
	require.Equal(t, "later", string(tail.after(n+1).block.body), "what does not follow begins anew")
	require.Len(t, tail.blocks, 1)
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
