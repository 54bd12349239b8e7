package agui_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
)

func BenchmarkScan(b *testing.B) {
	for name, raw := range map[string]string{
		"delta200B":   `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01J9ZK3W8Q5V7T2R4M6N8P0S1A","timestamp":1767225600000,"delta":"` + strings.Repeat("word ", 15) + `tail"}`,
		"delta1KiB":   string(deltas(1, 1024)[0]),
		"chinese1KiB": `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"` + strings.Repeat("中", 341) + `"}`,
		"escapes1KiB": `{"type":"TOOL_CALL_ARGS","toolCallId":"t","delta":"` + strings.Repeat(`{\"a\":1},`, 114) + `"}`,
		"nested4KiB":  `{"type":"STATE_SNAPSHOT","snapshot":[` + strings.Repeat(`{"id":12,"ok":true,"name":"abcdef"},`, 113) + `null]}`,
	} {
		b.Run(name, func(b *testing.B) {
			var e agui.Event
			in := []byte(raw)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if err := agui.Scan(in, &e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// deltas are n adjacent events, each with a delta of size bytes.
func deltas(n, size int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		body := fmt.Sprintf("%06d ", i)
		body += strings.Repeat("x", max(0, size-len(body)))
		out[i] = fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_01J9ZK3W8Q5V7T2R4M6N8P0S1A","delta":%q}`, body[:size])
	}
	return out
}

func scanned(b *testing.B, raws [][]byte) []agui.Event {
	out := make([]agui.Event, len(raws))
	for i, raw := range raws {
		if err := agui.Scan(raw, &out[i]); err != nil {
			b.Fatal(err)
		}
	}
	return out
}

// against runs a copy of the bytes and the work in turns, so that both see the
// same machine, and reports how many times longer the work takes, by the
// medians: a collection of garbage hits either now and then.
func against(b *testing.B, size int, copied, work func() int) {
	var base, took []time.Duration
	sum := 0
	b.SetBytes(int64(size))
	for b.Loop() {
		t := time.Now()
		sum += copied()
		base = append(base, time.Since(t))
		t = time.Now()
		sum += work()
		took = append(took, time.Since(t))
	}
	if sum == 0 {
		b.Fatal("nothing was done")
	}
	slices.Sort(base)
	slices.Sort(took)
	c, w := base[len(base)/2], took[len(took)/2]
	b.ReportMetric(float64(w)/float64(c), "x-copy")
	b.ReportMetric(float64(c.Nanoseconds()), "copy-ns")
	b.ReportMetric(float64(w.Nanoseconds()), "work-ns")
}

// appended is what a plain copy of all deltas into a growing buffer costs.
func appended(events []agui.Event) func() int {
	return func() int {
		var out []byte
		for i := range events {
			out = append(out, events[i].Delta()...)
		}
		return len(out)
	}
}

// presized is the same into a buffer of the right size: the least it can cost.
func presized(events []agui.Event, size int) func() int {
	return func() int {
		out := make([]byte, 0, size)
		for i := range events {
			out = append(out, events[i].Delta()...)
		}
		return len(out)
	}
}

func folded(events []agui.Event) func() int {
	return func() int {
		var f agui.Fold
		for i := range events {
			f.Add(&events[i])
		}
		return f.Len()
	}
}

func BenchmarkFoldAdd(b *testing.B) {
	for _, c := range []struct{ n, size int }{{10_000, 1024}, {100_000, 20}} {
		events := scanned(b, deltas(c.n, c.size))
		total := c.n * c.size
		b.Run(fmt.Sprintf("%dx%dB/append", c.n, c.size), func(b *testing.B) {
			against(b, total, appended(events), folded(events))
		})
		b.Run(fmt.Sprintf("%dx%dB/presized", c.n, c.size), func(b *testing.B) {
			against(b, total, presized(events, total), folded(events))
		})
	}
}

func BenchmarkFoldScanAndAdd(b *testing.B) {
	raws := deltas(10_000, 1024)
	events := scanned(b, raws)
	against(b, 10_000*1024, appended(events), func() int {
		var f agui.Fold
		var e agui.Event
		for _, raw := range raws {
			if agui.Scan(raw, &e) != nil {
				return 0
			}
			f.Add(&e)
		}
		return f.Len()
	})
}

func BenchmarkFoldSnapshot(b *testing.B) {
	var f agui.Fold
	for _, e := range scanned(b, deltas(10_000, 1024)) {
		f.Add(&e)
	}
	whole := f.AppendTo(nil)
	dst := make([]byte, 0, len(whole))
	b.Run("fresh", func(b *testing.B) {
		against(b, len(whole), func() int { return len(bytes.Clone(whole)) }, func() int { return len(f.AppendTo(nil)) })
	})
	b.Run("reused", func(b *testing.B) {
		against(b, len(whole), func() int { return len(append(dst[:0], whole...)) }, func() int { return len(f.AppendTo(dst[:0])) })
	})
}

// Nothing merges here: the copy is of whole events.
func BenchmarkFoldUnmerged(b *testing.B) {
	raws := make([][]byte, 10_000)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"some text"}`, i)
	}
	events := scanned(b, raws)
	against(b, len(bytes.Join(raws, nil)), func() int {
		var out []byte
		for _, raw := range raws {
			out = append(out, raw...)
		}
		return len(out)
	}, folded(events))
}

func BenchmarkFoldAppendArray(b *testing.B) {
	var f agui.Fold
	for i := range 20_000 {
		var e agui.Event
		if err := agui.Scan(fmt.Appendf(nil, `{"type":"CUSTOM","name":"n%d","value":"%0200d"}`, i, i), &e); err != nil {
			b.Fatal(err)
		}
		f.Add(&e)
	}
	whole := f.AppendTo(nil)
	dst := make([]byte, 0, len(whole)+2)
	against(b, len(whole), func() int { return len(append(dst[:0], whole...)) }, func() int { return len(agui.AppendArray(dst[:0], whole)) })
}

// What a checkpoint does to events that were scanned when they were published, and what it would
// do if each were scanned again. The copy is of whole events.
func BenchmarkFoldLines(b *testing.B) {
	raws := deltas(10_000, 120) // events of 200 bytes
	lines := bytes.Join(raws, []byte{'\n'})
	var marker agui.Marker
	marks := make([]agui.Mark, len(raws))
	for i, e := range scanned(b, raws) {
		marks[i] = marker.Mark(&e)
	}
	copied := func() int { return len(bytes.Clone(lines)) }
	b.Run("marked", func(b *testing.B) {
		against(b, len(lines), copied, func() int {
			var f agui.Fold
			f.AddMarked(lines, marks)
			return f.Len()
		})
	})
	b.Run("scanned", func(b *testing.B) {
		against(b, len(lines), copied, func() int {
			var f agui.Fold
			_, _ = f.AddLines(lines)
			return f.Len()
		})
	})
}
