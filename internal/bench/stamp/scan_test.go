package stamp_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/stamp"
)

const due = int64(1764531000123456)

func TestEventsHaveTheirExactSizeAndAreJSON(t *testing.T) {
	t.Parallel()
	for _, size := range []int{stamp.MinSize, 200, 1 << 10, 16 << 10} {
		for _, n := range []uint64{1, 99_999, 1<<53 - 1} {
			event := stamp.Append(nil, n, due, size)
			require.Len(t, event, size)
			require.True(t, json.Valid(event))
			got, at, ok := stamp.First(event)
			require.True(t, ok)
			require.Equal(t, n, got)
			require.Equal(t, due, at)
		}
	}
	require.Len(t, stamp.Append(nil, 1, due, 3), stamp.MinSize)
	require.True(t, json.Valid(stamp.Open()))
	_, _, ok := stamp.First(stamp.Open())
	require.False(t, ok)
}

func TestWhatIsNoWholeStampIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "~", "~~", "~1", "~1.", "~1.2", "~.2~", "~1.~", "1.2~", "~a.2~", "~1.b~", "~1,2~", "~-1.2~",
		"~12345678901234567890.2~", "~1 .2~",
	} {
		_, _, ok := stamp.First([]byte(text))
		require.False(t, ok, text)
	}
	for _, text := range []string{"~7.8~", "~~7.8~~", "~1~7.8~", "~1.~7.8~", "x~1.2y~7.8~1~"} {
		n, at, ok := stamp.First([]byte(text))
		require.True(t, ok, text)
		require.EqualValues(t, 7, n, text)
		require.EqualValues(t, 8, at, text)
	}
}

// However a text is cut, a Scanner finds what Scan finds in the whole.
func TestStampsAreFoundAcrossPieces(t *testing.T) {
	t.Parallel()
	var text []byte
	for n := range uint64(40) {
		text = stamp.Append(text, n+1, due+int64(n), stamp.MinSize)
		text = append(text, "~~5~1."...)
	}
	type found struct {
		n  uint64
		at int64
	}
	var want []found
	for n, at := range stamp.Scan(text) {
		want = append(want, found{n, at})
	}
	require.Len(t, want, 40)
	random := rand.New(rand.NewPCG(1, 2))
	for size := 1; size < 200; size++ {
		var s stamp.Scanner
		var got []found
		for rest := text; len(rest) > 0; {
			piece := rest[:min(len(rest), 1+random.IntN(size))]
			rest = rest[len(piece):]
			for n, at := range s.Scan(piece) {
				got = append(got, found{n, at})
			}
		}
		require.Equal(t, want, got, "pieces of up to %d", size)
	}
}

func TestScanningAllocatesNothing(t *testing.T) {
	text := stamp.Append(stamp.Append(nil, 1, due, 200), 2, due, 200)
	var s stamp.Scanner
	var sum uint64
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for n := range stamp.Scan(text) {
			sum += n
		}
		for n := range s.Scan(text) {
			sum += n
		}
	}))
	require.NotZero(t, sum)
}

func BenchmarkScan(b *testing.B) {
	var text []byte
	for n := range uint64(10_000) {
		text = stamp.Append(text, n+1, due, 200)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var s stamp.Scanner
		for range s.Scan(text) {
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = stamp.Append(buf[:0], 17, due, 200)
	}
}
