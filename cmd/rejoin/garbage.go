package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// garbageRoom is how much garbage a process that serves may gather before it is collected.
// By itself Go collects as soon as there is as much of it as of everything else, and a relay
// holds so little that it would do so several times a second: at full speed of ingest that
// was a third of its CPU.
const garbageRoom = 32 << 20

// maxGarbagePercent bounds how often the memory in use that may be.
const maxGarbagePercent = 1000

// gcPercent is what GOGC would be to leave that room beside so much memory in use; never
// less than Go's own 100.
func gcPercent(live uint64) int {
	return int(max(100, min(maxGarbagePercent, garbageRoom*100/max(live, 1))))
}

// tuner adjusts the collector's pace after each collection.
type tuner struct {
	percent atomic.Int64 // as set last
	ended   atomic.Bool
}

// leaveRoomForGarbage keeps the collector's pace as above for as long as the process lives.
// Whoever sets GOGC has decided otherwise. GOMEMLIMIT holds all the same: the collector runs
// as often as that takes.
func leaveRoomForGarbage(env func(string) (string, bool)) *tuner {
	t := &tuner{}
	if v, ok := env("GOGC"); ok && v != "" {
		t.ended.Store(true)
		return t
	}
	t.adjust()
	return t
}

// collected is unreachable at once: that it is gone says that the collector has run.
type collected struct{ _ [16]byte }

func (t *tuner) adjust() {
	if t.ended.Load() {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		if p := int64(gcPercent(live[0].Value.Uint64())); p != t.percent.Swap(p) {
			debug.SetGCPercent(int(p))
		}
	}
	runtime.SetFinalizer(new(collected), func(*collected) { t.adjust() })
}

// end leaves the pace as it is.
func (t *tuner) end() { t.ended.Store(true) }
