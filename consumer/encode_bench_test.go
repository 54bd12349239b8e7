package consumer_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// BenchmarkAppendSSE encodes frames into a buffer that has room, as a tail does once for
// all of its observers. The copies beside it are what it could
// cost at least.
func BenchmarkAppendSSE(b *testing.B) {
	run := subjects.NewRunID(1)
	event := func(size int) []byte {
		head := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"`
		return []byte(head + strings.Repeat("x", size-len(head)-len(`"}`)) + `"}`)
	}
	for _, c := range []struct {
		name  string
		frame consumer.Frame
	}{
		{"event200B", consumer.Frame{Type: consumer.Event, RunID: run, Seq: 12345, Event: event(200)}},
		{"event1KiB", consumer.Frame{Type: consumer.Event, RunID: run, Seq: 12345, Event: event(1024)}},
		{"snapshot1MiB", consumer.Frame{Type: consumer.Snapshot, RunID: run, Seq: 12345,
			Events: bytes.TrimSuffix(bytes.Repeat(append(event(1023), '\n'), 1024), []byte("\n"))}},
		{"end", consumer.Frame{Type: consumer.End, RunID: run, Seq: 12345, End: subjects.End{Persisted: true, Reason: subjects.ReasonDone}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			buf := c.frame.AppendSSE(nil)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				buf = c.frame.AppendSSE(buf[:0])
			}
		})
	}
	for _, size := range []int{200, 1024, 1 << 20} {
		b.Run(fmt.Sprintf("copy%d", size), func(b *testing.B) {
			from, to := make([]byte, size), make([]byte, 0, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				to = append(to[:0], from...)
			}
		})
	}
}
