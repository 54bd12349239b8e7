package producer_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// patience bounds every wait of these tests; reaching it is a failure.
const patience = 2 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// broker starts a server that is the test's own.
func broker(t testing.TB, cfg natsd.Config) *natsd.Server {
	t.Helper()
	s, err := natsd.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	return s
}

// testLog shows a producer's log lines with the test that fails.
type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Helper()
	l.t.Log(string(bytes.TrimSpace(b)))
	return len(b), nil
}

func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// process is what one process has: its connection, store and producer.
type process struct {
	nc    *nats.Conn
	store *runs.Store
	*producer.Producer
}

func newProcess(t testing.TB, s *natsd.Server, cfg producer.Config, opts ...nats.Option) *process {
	t.Helper()
	opts = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond)}, opts...)
	nc, err := s.Connect(opts...)
	require.NoError(t, err)
	return newProcessOn(t, nc, cfg)
}

func newProcessOn(t testing.TB, nc *nats.Conn, cfg producer.Config) *process {
	t.Helper()
	t.Cleanup(nc.Close)
	store, err := runs.Open(within(t), nc, runs.Config{Provision: true, Partitions: 2, Logger: logger(t)})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	if cfg.Logger == nil {
		cfg.Logger = logger(t)
	}
	p, err := producer.Open(within(t), store, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = p.Close(ctx)
	})
	return &process{nc: nc, store: store, Producer: p}
}

func (p *process) start(t testing.TB, chat string) *producer.Run {
	t.Helper()
	r, err := p.Start(within(t), producer.StartOptions{ChatID: chat})
	require.NoError(t, err)
	return r
}

// text is the ith event of a run: each is told from every other.
func text(i int) []byte {
	return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"%d "}`, i)
}

// custom is an event that is never merged with another.
func custom(i int) []byte {
	return fmt.Appendf(nil, `{"type":"CUSTOM","name":"n","value":%d}`, i)
}

// events reads a run's log as a reader would: records in order, parts joined, what no
// writer completed left out. It fails the test on a gap or a repetition.
func (p *process) events(t testing.TB, id subjects.RunID) (events [][]byte, end *subjects.End) {
	t.Helper()
	var from, last uint64
	var parts [][]byte
	for {
		page, err := p.store.Page(within(t), id, from)
		require.NoError(t, err)
		if len(page) == 0 {
			return events, end
		}
		for _, rec := range page {
			from = rec.StreamSeq + 1
			require.Nil(t, end, "a record after the end")
			if rec.Kind != subjects.KindPart {
				parts = nil
			}
			if from == 1 || last == 0 {
				last = rec.Prev()
			}
			require.Equal(t, last, rec.Prev(), "a gap or a repetition in the log")
			last = rec.Last
			switch rec.Kind {
			case subjects.KindEvents:
				lines := bytes.Split(rec.Body, []byte{'\n'})
				require.Len(t, lines, rec.Count)
				events = append(events, lines...)
			case subjects.KindPart:
				if rec.Part == 1 {
					parts = nil
				}
				require.Len(t, parts, rec.Part-1)
				parts = append(parts, rec.Body)
				if rec.Part == rec.Parts {
					events, parts = append(events, bytes.Join(parts, nil)), nil
				}
			case subjects.KindEnd:
				end = rec.End()
			}
		}
	}
}

// covered checks that the segments tile the run from its first event on without a gap,
// and gives the newest seq they hold.
func (p *process) covered(t testing.TB, id subjects.RunID) int {
	t.Helper()
	to := uint64(0)
	for seg, err := range p.store.Segments(within(t), id, 0) {
		require.NoError(t, err)
		require.Equal(t, to+1, seg.From)
		to = seg.To
	}
	return int(to)
}

// entries lists the runs that have an entry.
func (p *process) entries(t testing.TB) (ids []subjects.RunID) {
	t.Helper()
	js, err := jetstream.New(p.nc)
	require.NoError(t, err)
	kv, err := js.KeyValue(within(t), subjects.Bucket)
	require.NoError(t, err)
	keys, err := kv.ListKeysFiltered(within(t), "run.*")
	require.NoError(t, err)
	for key := range keys.Keys() {
		ids = append(ids, subjects.RunID(key[len("run."):]))
	}
	return ids
}
