package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

func TestRoomForGarbage(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 1000, 1 << 20: 1000, 8 << 20: 400, 16 << 20: 200, 32 << 20: 100, 8 << 30: 100} {
		require.Equal(t, want, gcPercent(live), "%d bytes in use", live)
	}
}

// It changes what all of this process shares, so it is not parallel.
func TestTheCollectorLeavesRoom(t *testing.T) { //nolint:paralleltest // see above
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	set := func(string) (string, bool) { return "50", true }
	require.Zero(t, leaveRoomForGarbage(set).percent.Load(), "who sets GOGC has decided")

	tuned := leaveRoomForGarbage(func(string) (string, bool) { return "", false })
	defer tuned.end()
	held := make([]byte, 24<<20)
	harness.Eventually(t, "as much in use leaves less room", func() bool {
		runtime.GC()
		return tuned.percent.Load() <= 133
	})
	runtime.KeepAlive(held)
	harness.Eventually(t, "and less leaves more", func() bool {
		runtime.GC()
		return tuned.percent.Load() > 133
	})
}
