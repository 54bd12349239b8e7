package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// patience bounds every wait of these tests; nothing is expected to need it.
const patience = 2 * time.Minute

// fabric is a broker of one test, with a store and a hub on it.
type fabric struct {
	t      testing.TB
	server *natsd.Server
	store  *runs.Store
	hub    *consumer.Hub
}

func newFabric(t testing.TB, cfg consumer.HubConfig) *fabric {
	t.Helper()
	return newFabricOn(t, natsd.Config{}, 1, cfg)
}

// newFabricOn is newFabric with a broker and as many partitions as are wanted.
func newFabricOn(t testing.TB, broker natsd.Config, partitions int, cfg consumer.HubConfig) *fabric {
	t.Helper()
	server, err := natsd.Start(broker)
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	store, err := runs.Open(t.Context(), nc, runs.Config{Partitions: partitions, Provision: true})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	cfg.Store = store
	hub := consumer.NewHub(cfg)
	t.Cleanup(hub.Close)
	return &fabric{t: t, server: server, store: store, hub: hub}
}

// run writes a run by hand: record by record, without package producer.
type run struct {
	f     *fabric
	entry *runs.Entry
	prev  uint64
	seq   uint64
	marks int
	fold  agui.Fold
	from  uint64 // first seq of the open segment
	all   []string
}

func (f *fabric) start(chat string, generation uint64) *run {
	f.t.Helper()
	r := &run{f: f, from: 1, entry: &runs.Entry{
		RunID: f.store.NewRunID(), ChatID: chat, Generation: generation,
		State: runs.StateRunning, Writer: nuid.Next(),
	}}
	r.append(subjects.Record{Kind: subjects.KindStart})
	r.entry.FirstStreamSeq = r.prev
	require.NoError(f.t, f.store.CreateEntry(f.t.Context(), r.entry))
	p, err := f.store.Pointer(f.t.Context(), "", chat)
	require.NoError(f.t, err)
	p.Advance(r.entry.RunID, generation, "")
	require.NoError(f.t, f.store.SetPointer(f.t.Context(), p))
	return r
}

func (r *run) append(rec subjects.Record) subjects.Record {
	r.f.t.Helper()
	rec.Writer = r.entry.Writer
	seq, err := r.f.store.Append(r.f.t.Context(), r.entry.RunID, &rec, r.prev)
	require.NoError(r.f.t, err)
	r.prev = seq
	return rec
}

// live plays the broker, which republishes a record once it is stored.
func (r *run) live(rec subjects.Record) {
	r.f.t.Helper()
	require.NoError(r.f.t, r.f.store.Conn().PublishMsg(rec.Msg(subjects.LiveSubject(r.entry.RunID))))
}

func delta(i uint64) string {
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%d "}`, i)
}

// large appends n events, one a record, of half a KiB each: 600 are more than a tail holds.
func (r *run) large(n int) {
	r.f.t.Helper()
	id := `"messageId":"` + strings.Repeat("m", 450) + `"`
	for range n {
		r.event(strings.Replace(delta(r.seq+1), `"messageId":"m"`, id, 1))
	}
}

// publish appends n events in one record.
func (r *run) publish(n int) {
	r.f.t.Helper()
	var events []string
	for range n {
		r.seq++
		events = append(events, delta(r.seq))
	}
	r.all = append(r.all, events...)
	body := []byte(strings.Join(events, "\n"))
	_, err := r.fold.AddLines(body)
	require.NoError(r.f.t, err)
	r.append(subjects.Record{Kind: subjects.KindEvents, Last: r.seq, Count: n, Body: body})
}

func (r *run) checkpoint() {
	r.f.t.Helper()
	seg := subjects.Segment{From: r.from, To: r.seq, StreamSeq: r.prev, Writer: r.entry.Writer}
	ctx := r.f.t.Context()
	require.NoError(r.f.t, r.f.store.CreateSegment(ctx, r.entry.RunID, r.marks, seg, r.fold.Cut()))
	r.from = r.seq + 1
	r.marks++
	_, err := r.f.store.ChangeEntry(ctx, r.entry.RunID, func(e *runs.Entry) error {
		e.Segments, e.Seq = r.marks, r.seq
		e.AddMark(runs.Mark{Seq: r.seq, StreamSeq: r.prev})
		return nil
	})
	require.NoError(r.f.t, err)
}

func (r *run) finish(end subjects.End) {
	r.f.t.Helper()
	r.append(subjects.EndRecord(end, r.seq, r.entry.Writer))
	_, err := r.f.store.Seal(r.f.t.Context(), r.entry.RunID, end, r.seq)
	require.NoError(r.f.t, err)
}

func (r *run) open(opt consumer.ReadOptions) *consumer.Reader {
	r.f.t.Helper()
	e, err := r.f.store.Entry(r.f.t.Context(), r.entry.RunID)
	require.NoError(r.f.t, err)
	reader, err := r.f.hub.Open(r.f.t.Context(), e, opt)
	require.NoError(r.f.t, err)
	r.f.t.Cleanup(reader.Close)
	return reader
}

func (r *run) cursor(after uint64) consumer.ReadOptions {
	return consumer.ReadOptions{Cursor: &consumer.Cursor{RunID: r.entry.RunID, AfterSeq: after}}
}

// text is what the events up to seq say.
func (r *run) text(seq uint64) string {
	var b strings.Builder
	for i := range seq {
		fmt.Fprintf(&b, "%d ", i+1)
	}
	return b.String()
}

// observer applies frames as a client does, and complains about any that does not
// follow.
type observer struct {
	t         testing.TB
	seq       uint64
	text      string
	snapshots int
	end       *consumer.Frame
}

func (o *observer) apply(f consumer.Frame) {
	o.t.Helper()
	require.Nil(o.t, o.end, "a frame after the end: %v", f.Type)
	switch f.Type {
	case consumer.Snapshot:
		o.snapshots++
		o.seq, o.text = f.Seq, ""
		for line := range f.Parts.Lines() {
			o.add(line)
		}
	case consumer.Event:
		require.Equal(o.t, o.seq+1, f.Seq)
		o.seq = f.Seq
		o.add(f.Event)
	case consumer.End:
		require.Equal(o.t, o.seq, f.Seq)
		o.end = &f
	}
}

func (o *observer) add(raw []byte) {
	o.t.Helper()
	var e agui.Event
	require.NoError(o.t, agui.Scan(raw, &e))
	o.text += string(e.Delta())
}

// poll reads what is there, without waiting.
func (o *observer) poll(r *consumer.Reader) {
	o.t.Helper()
	for {
		f, ok, err := r.Poll(o.t.Context())
		require.NoError(o.t, err)
		if !ok {
			return
		}
		o.apply(f)
	}
}

// until reads until the observer has seq.
func (o *observer) until(r *consumer.Reader, seq uint64) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	for o.seq < seq {
		f, err := r.Next(ctx)
		require.NoError(o.t, err, "at %d, want %d", o.seq, seq)
		o.apply(f)
	}
}

// toEnd reads to the end.
func (o *observer) toEnd(r *consumer.Reader) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	for {
		f, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			require.NotNil(o.t, o.end)
			return
		}
		require.NoError(o.t, err)
		o.apply(f)
	}
}

// deafen stops the broker from republishing, so that nothing arrives live.
func (f *fabric) deafen() { f.log(func(c *jetstream.StreamConfig) { c.RePublish = nil }) }

// keep makes the log keep only the newest n records of each run.
func (f *fabric) keep(n int64) { f.log(func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = n }) }

// log changes how the broker keeps the first partition's log.
func (f *fabric) log(change func(*jetstream.StreamConfig)) {
	f.t.Helper()
	js, err := jetstream.New(f.store.Conn())
	require.NoError(f.t, err)
	cfg := subjects.RunsConfig(0, 1)
	change(&cfg)
	_, err = js.UpdateStream(f.t.Context(), cfg)
	require.NoError(f.t, err)
}

// deafenPointers stops the broker from telling that pointers move.
func (f *fabric) deafenPointers() {
	f.t.Helper()
	js, err := jetstream.New(f.store.Conn())
	require.NoError(f.t, err)
	cfg := subjects.BucketConfig(1)
	cfg.RePublish = nil
	_, err = js.UpdateStream(f.t.Context(), cfg)
	require.NoError(f.t, err)
}

// event appends one event in a record of its own.
func (r *run) event(event string) {
	r.f.t.Helper()
	_, err := r.fold.AddLines([]byte(event))
	require.NoError(r.f.t, err)
	r.all = append(r.all, event)
	r.seq++
	r.append(subjects.Record{Kind: subjects.KindEvents, Last: r.seq, Count: 1, Body: []byte(event)})
}

// parts appends one event in records of at most limit bytes.
func (r *run) parts(event string, limit int) {
	r.f.t.Helper()
	_, err := r.fold.AddLines([]byte(event))
	require.NoError(r.f.t, err)
	r.all = append(r.all, event)
	n := (len(event) + limit - 1) / limit
	for i := range n {
		rec := subjects.Record{Kind: subjects.KindPart, Last: r.seq, Part: i + 1, Parts: n,
			Body: []byte(event[i*limit : min((i+1)*limit, len(event))])}
		if i == n-1 {
			r.seq++
			rec.Last, rec.Count = r.seq, 1
		}
		r.append(rec)
	}
}
