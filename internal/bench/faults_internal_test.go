//go:build linux

package bench

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/floor"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// A speed that loses events is no speed: whatever a server does to one event on its way to
// one observer is in the counts.
func TestWhatAServerDoesWrongIsCounted(t *testing.T) {
	t.Parallel()
	const observers, events = 5, 20
	for _, c := range []struct {
		name  string
		fault func(frame []byte, n uint64, held *[]byte) []byte
		want  report.Counts
	}{
		{"nothing", func(frame []byte, _ uint64, _ *[]byte) []byte { return frame }, report.Counts{}},
		{"lost", func(frame []byte, n uint64, _ *[]byte) []byte {
			if n == 7 {
				return nil
			}
			return frame
		}, report.Counts{Missing: 1}},
		{"doubled", func(frame []byte, n uint64, _ *[]byte) []byte {
			if n == 7 {
				return append(bytes.Clone(frame), frame...)
			}
			return frame
		}, report.Counts{Doubled: 1}},
		{"swapped", func(frame []byte, n uint64, held *[]byte) []byte {
			switch n {
			case 7:
				*held = bytes.Clone(frame)
				return nil
			case 8:
				return append(bytes.Clone(frame), *held...)
			}
			return frame
		}, report.Counts{OutOfOrder: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			counts := faulty(t, observers, events, c.fault)
			c.want.Expected, c.want.Delivered = observers*events, observers*events-c.want.Missing
			require.Equal(t, c.want, counts)
			require.Equal(t, c.name != "nothing", counts.Wrong())
		})
	}
}

// faulty sends events to observers, of whom the first gets what fault makes of each frame.
func faulty(t *testing.T, observers int, events uint64, fault func([]byte, uint64, *[]byte) []byte) report.Counts {
	t.Helper()
	topics := floor.NewServer()
	first := make(chan struct{}, 1)
	first <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			select {
			case <-first:
				w = &damaging{ResponseWriter: w, fault: fault}
			default:
			}
		}
		topics.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(topics.Close)
	to := target{system: report.BareSSE, addr: strings.TrimPrefix(server.URL, "http://"), bare: true, server: Floor}
	p, crowd, err := new(Env).steady(t.Context(), to, Case{Runs: 1, Observers: observers, Size: 200})
	require.NoError(t, err)
	defer p.close()
	defer crowd.close()
	require.NoError(t, p.begin(time.Now(), 200, time.Duration(events)*5*time.Millisecond))
	last, err := p.finish(t.Context())
	require.NoError(t, err)
	require.Equal(t, events, last)
	require.NoError(t, crowd.through(t.Context(), last))
	sum, err := crowd.counts(last)
	require.NoError(t, err)
	return counted(sum, 0)
}

// damaging passes on what fault makes of each frame.
type damaging struct {
	http.ResponseWriter
	fault func([]byte, uint64, *[]byte) []byte
	held  []byte
}

func (d *damaging) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *damaging) Write(b []byte) (int, error) {
	var out []byte
	for frame := range bytes.SplitAfterSeq(b, []byte("\n\n")) {
		n, _, _ := stamp.First(frame)
		out = append(out, d.fault(frame, n, &d.held)...)
	}
	_, err := d.ResponseWriter.Write(out)
	return len(b), err
}
