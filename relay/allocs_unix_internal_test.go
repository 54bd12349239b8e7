//go:build unix

package relay

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// A frame that is live allocates nothing, in a row or alone. Not parallel: others would be
// counted.
func TestALiveFrameAllocatesNothing(t *testing.T) {
	near, far := tcpPair(t)
	buf := make([]byte, 4<<10)
	read := func() {
		if n, err := far.Read(buf); err != nil || n == 0 {
			t.Error("nothing came")
		}
	}
	raw, err := near.SyscallConn()
	require.NoError(t, err)
	d := &direct{conn: near, raw: raw}
	d.write = d.once
	out := newSink(newWireLog(), d, time.Hour, time.Hour, func(error) {})
	require.NoError(t, out.comment(), "through net/http")
	defer out.close()
	out.spreadOver(func() time.Duration { return 0 })

	f := consumer.Frame{Type: consumer.Event, RunID: "r", Seq: 1, Event: []byte(`{"type":"RAW"}`)}
	st := &stream{wire: protocol1{}, sink: out}
	alone := testing.AllocsPerRun(1000, func() {
		st.frame = f
		if st.put() != nil || out.flush() != nil {
			t.Error("it cannot be written")
		}
		read()
	})
	// The race detector has pools forget things.
	forgotten := testing.AllocsPerRun(100, func() {
		for range 10 {
			a, b := takeBuffer(), takeBuffer()
			a.giveBack()
			b.giveBack()
		}
	})
	require.LessOrEqual(t, alone, forgotten)

	all := newAudiences(t.Context(), nil, time.Hour, func() time.Duration { return 0 }, nil)
	r := &row{of: &audience{of: all}, cancel: func() {}}
	r.sit(&member{sink: out, seq: 1, back: make(chan struct{}, 1)})
	next := &repeated{frame: f}
	together := testing.AllocsPerRun(1000, func() {
		r.batch.reset()
		if _, err := r.batch.fill(t.Context(), next); err != nil || r.batch.events != 1 {
			t.Error("it cannot be read")
		}
		r.pass()
		read()
	})
	require.Zero(t, int(together))
	require.Equal(t, 1, r.n, "it has taken all")
}

func tcpPair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	a, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	require.NoError(t, err)
	b, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return b.(*net.TCPConn), a.(*net.TCPConn)
}

// repeated is a source of which every second poll brings the next event.
type repeated struct {
	frame consumer.Frame
	off   bool
}

func (r *repeated) Poll(context.Context) (consumer.Frame, bool, error) {
	if r.off = !r.off; !r.off {
		return consumer.Frame{}, false, nil
	}
	r.frame.Seq++
	return r.frame, true, nil
}

func (r *repeated) Changed() <-chan struct{} { return nil }
