package relay

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// peer is the connection that a request came on, for the context of all its requests.
type peer struct {
	conn   net.Conn
	scarce bool
}

type peerKey struct{}

// peerOf is nil where the server is not the relay's own.
func peerOf(ctx context.Context) *peer {
	p, _ := ctx.Value(peerKey{}).(*peer)
	return p
}

// direct is the way to an observer around the buffers of net/http, which is free to be
// taken between two of its flushes: what is written is whole chunks of a chunked answer,
// and net/http goes on behind them, to the end of the answer or to the next one. A write
// is one system call, without a deadline unless it has to wait.
//
// One goroutine at a time uses it.
type direct struct {
	conn  *net.TCPConn
	raw   syscall.RawConn
	write func(fd uintptr) bool // writes b once, without waiting
	b     []byte
	n     int
	err   error
}

// directTo is the way around for the answer to a request, nil where there is none: on
// HTTP/2 the connection is shared, an answer over HTTP/1.0 has no chunks, and another
// server's connection is not known.
func directTo(r *http.Request) *direct {
	p := peerOf(r.Context())
	if p == nil || r.ProtoMajor != 1 || r.ProtoMinor < 1 || r.Method == http.MethodHead {
		return nil
	}
	tcp, ok := p.conn.(*net.TCPConn)
	if !ok || !canTry {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{conn: tcp, raw: raw}
	d.write = d.once
	return d
}

// try writes what the socket takes at this moment: n may be less than there is.
func (d *direct) try(b []byte) (n int, err error) {
	d.b, d.n, d.err = b, 0, nil
	err = d.raw.Write(d.write)
	d.b = nil
	if err == nil {
		err = d.err
	}
	return d.n, err
}

// smallChunk is up to what size a chunk is copied to be written in one piece with its
// frame.
const smallChunk = 16 << 10

// chunk writes b as one chunk, and waits for the observer to take it no longer than patience.
// After an error the connection is of no use: it may have broken off within the chunk.
func (d *direct) chunk(b []byte, patience time.Duration) error {
	if len(b) > smallChunk {
		head := strconv.AppendInt(nil, int64(len(b)), 16)
		return d.rest(patience, append(head, '\r', '\n'), b, []byte("\r\n"))
	}
	buf := takeBuffer()
	defer buf.giveBack()
	buf.b = appendChunk(buf.b, b)
	n, err := d.try(buf.b)
	if err != nil || n == len(buf.b) {
		return err
	}
	return d.rest(patience, buf.b[n:])
}

// rest writes what has no room in the socket yet.
func (d *direct) rest(patience time.Duration, b ...[]byte) error {
	err := d.conn.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = (*net.Buffers)(&b).WriteTo(d.conn)
	}
	if err == nil {
		err = d.conn.SetWriteDeadline(time.Time{})
	}
	return err
}

// appendChunk appends b as one chunk of a chunked answer.
func appendChunk(dst, b []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(b)), 16)
	dst = append(dst, '\r', '\n')
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}

// buffer is one of those that are shared by all streams, of which most hold none.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, keepSize)} }}

func takeBuffer() *buffer { return buffers.Get().(*buffer) }

// giveBack is called once, by whoever does not use the buffer any more.
func (b *buffer) giveBack() {
	if cap(b.b) <= chunkSize+frameRoom {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}
