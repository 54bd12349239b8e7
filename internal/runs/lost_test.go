package runs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/proxy"
)

// distant is a store whose connection goes through a proxy.
type distant struct {
	*runs.Store
	f     *fabric
	proxy *proxy.Proxy
}

func newDistant(t *testing.T) *distant {
	t.Helper()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0"})
	p, err := proxy.Start(strings.TrimPrefix(f.server.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	nc, err := nats.Connect("nats://"+p.Addr(), nats.ReconnectWait(10*time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	s, err := runs.Open(t.Context(), nc, runs.Config{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return &distant{Store: s, f: f, proxy: p}
}

// unanswered does something whose answer is lost with the connection, once the broker
// has done it.
func (d *distant) unanswered(done func() bool, something func() error) error {
	d.f.Helper()
	release := d.proxy.Hold(proxy.Down)
	defer release()
	result := make(chan error, 1)
	go func() { result <- something() }()
	require.Eventually(d.f, done, patience, time.Millisecond)
	d.proxy.Cut()
	release()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		d.f.Fatal("no result although the connection is back")
		return nil
	}
}

// sent is true once the store has sent something after sent was called.
func (d *distant) sent() func() bool {
	before := d.Conn().Stats().OutMsgs
	return func() bool { return d.Conn().Stats().OutMsgs > before }
}

func TestDUP04_LostAcksAreSettled(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	f := d.f
	e := f.start("c", 1, "p")

	r := event(1, e.Writer)
	var seq uint64
	require.NoError(t, d.unanswered(func() bool {
		last, err := f.store.Last(t.Context(), e.RunID)
		return err == nil && last.Last == 1
	}, func() (err error) {
		seq, err = d.Append(t.Context(), e.RunID, &r, e.FirstStreamSeq)
		return err
	}))
	last, err := f.store.Last(t.Context(), e.RunID)
	require.NoError(t, err)
	require.Equal(t, last.StreamSeq, seq)
	page, err := f.store.Page(t.Context(), e.RunID, 0)
	require.NoError(t, err)
	require.Len(t, page, 2, "stored once")

	changed := *f.entry(e.RunID)
	changed.Segments = 1
	require.NoError(t, d.unanswered(func() bool { return f.entry(e.RunID).Segments == 1 },
		func() error { return d.UpdateEntry(t.Context(), &changed) }))
	changed.Segments = 2
	require.NoError(t, d.UpdateEntry(t.Context(), &changed), "the revision is known")

	p, err := d.Pointer(t.Context(), "", "c")
	require.NoError(t, err)
	p.Advance(d.NewRunID(), 2, "")
	pointer := func() *runs.Pointer {
		p, err := f.store.Pointer(t.Context(), "", "c")
		require.NoError(t, err)
		return p
	}
	require.NoError(t, d.unanswered(func() bool { return pointer().Generation == 2 },
		func() error { return d.SetPointer(t.Context(), p) }))
	p.Advance(p.RunID, 3, "")
	require.NoError(t, d.SetPointer(t.Context(), p), "the revision is known")

	seg := subjects.Segment{From: 1, To: 1, StreamSeq: seq, Writer: e.Writer}
	require.NoError(t, d.unanswered(func() bool {
		_, err := f.store.Segment(t.Context(), e.RunID, 0)
		return err == nil
	}, func() error { return d.CreateSegment(t.Context(), e.RunID, 0, seg, r.Body) }))

	end := subjects.EndRecord(subjects.End{Reason: subjects.ReasonDone}, 1, e.Writer)
	require.NoError(t, d.unanswered(func() bool {
		last, err := f.store.Last(t.Context(), e.RunID)
		return err == nil && last.Kind == subjects.KindEnd
	}, func() error { _, err := d.Append(t.Context(), e.RunID, &end, seq); return err }))
}

// A question whose answer is lost with the connection is asked again once it is back.
func TestQuestionsOutliveTheConnection(t *testing.T) {
	t.Parallel()
	d := newDistant(t)
	e := d.f.start("c", 1, "p")
	d.f.publish(e)
	for name, ask := range map[string]func() error{
		"last":    func() error { _, err := d.Last(t.Context(), e.RunID); return err },
		"entry":   func() error { _, err := d.Entry(t.Context(), e.RunID); return err },
		"pointer": func() error { _, err := d.Pointer(t.Context(), "", "c"); return err },
		"ping":    func() error { return d.Ping(t.Context()) },
		"page":    func() error { _, err := d.Page(t.Context(), e.RunID, 0); return err },
		"segments": func() error {
			for _, err := range d.Segments(t.Context(), e.RunID, 0) {
				return err
			}
			return nil
		},
	} {
		require.NoError(t, d.unanswered(d.sent(), ask), name)
	}
}
