package consumer

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// BenchmarkLiveRecord is what a record costs between the broker's connection and the wake of
// the run's only observer, and what is kept of it: 1,000 runs at a token's pace in turns, each
// event in a message of its own, with as much header as the broker sends.
func BenchmarkLiveRecord(b *testing.B) {
	const observed, header, size = 1000, 330, 200
	tails := make([]*tail, observed)
	for i := range tails {
		tails[i] = newTail(subjects.RunID(fmt.Sprint("0-", i)))
	}
	event := bytes.Repeat([]byte("x"), size)
	before := inUse()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		t, seq := tails[n%observed], uint64(n/observed)+1
		wake := t.after(seq - 1).wake
		message := make([]byte, header+size)
		copy(message[header:], event)
		t.apply(&runs.Stored{StreamSeq: uint64(n), Record: subjects.Record{
			Kind: subjects.KindEvents, Last: seq, Count: 1, Writer: "w", Body: message[header:]}})
		<-wake
		if st := t.after(seq - 1); !st.ok {
			b.Fatal("it is not there")
		}
		n++
	}
	b.ReportMetric(float64(inUse()-before)/float64(n), "kept-B/record")
	runtime.KeepAlive(tails)
}

func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
