package consumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestBackoffDoublesUpToItsCap(t *testing.T) {
	t.Parallel()
	var b consumer.Backoff
	for n, want := range []time.Duration{500e6, 1e9, 2e9, 4e9, 8e9, 15e9, 15e9} {
		require.Equal(t, want, b.Ceiling(n), n)
	}
	require.Equal(t, 15*time.Second, b.Ceiling(1<<20))
	require.Equal(t, time.Millisecond, consumer.Backoff{Base: time.Hour, Max: time.Millisecond}.Ceiling(0))
	require.Equal(t, time.Duration(1<<62), consumer.Backoff{Base: 1, Max: 1 << 62}.Ceiling(200), "nothing overflows")
}

func TestBackoffIsSpreadOverTheWholeCeiling(t *testing.T) {
	t.Parallel()
	b := consumer.Backoff{Base: time.Second}
	var early, late int
	for range 1000 {
		d := b.Delay(1)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, 2*time.Second)
		if d < time.Second {
			early++
		} else {
			late++
		}
	}
	require.Greater(t, early, 300)
	require.Greater(t, late, 300)
}
