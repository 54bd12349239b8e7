package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/client"
)

// loop runs a Loop until the test ends.
func loop(t *testing.T, addr string) *client.Loop {
	t.Helper()
	l, err := client.NewLoop(addr)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return l
}

func done(t *testing.T, s *seen) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatal("the connection was not closed")
	}
}

func TestACrowdIsToldEverything(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 100_000} {
		addr := serve(t, write(50, size))
		l := loop(t, addr)
		var all []*seen
		require.NoError(t, l.Do(func() {
			for i := range 10 {
				s := newSeen()
				all = append(all, s)
				sock, err := l.Dial(client.Source(i), s)
				if err != nil {
					t.Error(err)
					return
				}
				_ = sock.Write(client.AppendGet(nil, addr, "/", client.Header{Name: "Connection", Value: "close"}))
			}
		}))
		for _, s := range all {
			done(t, s)
			require.EqualValues(t, 50, s.frames)
			require.Zero(t, s.wrong)
			require.Equal(t, []string{"200 "}, s.answers)
			require.ErrorIs(t, s.why, io.EOF)
		}
	}
}

// What a peer does not take at once is held and sent later, in order.
func TestWhatCannotBeSentYetIsHeld(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-wait
		n := 0
		for b := make([]byte, 1<<10); ; {
			m, err := r.Body.Read(b)
			if len(bytes.Trim(b[:m], "x")) > 0 {
				fmt.Fprint(w, "something else")
			}
			if n += m; err != nil {
				break
			}
		}
		fmt.Fprint(w, n)
	})
	l := loop(t, addr)
	s := newSeen()
	var sock *client.Sock
	held := false
	require.NoError(t, l.Do(func() {
		var err error
		if sock, err = l.Dial([4]byte{}, s); err != nil {
			t.Error(err)
			return
		}
		_ = sock.Write(client.AppendStream(nil, addr, "/", client.Header{Name: "Connection", Value: "close"}))
	}))
	sent := 0
	chunk := append(client.AppendChunkHead(nil, 64<<10), bytes.Repeat([]byte("x"), 64<<10)...)
	chunk = append(chunk, client.EndChunk...)
	for full := false; !full; {
		require.NoError(t, l.Do(func() {
			if full = sock.Write(chunk) != nil; !full {
				sent += 64 << 10
			}
			held = held || sock.Held() > 0
		}))
	}
	require.True(t, held)
	close(wait)
	for over := false; !over; {
		require.NoError(t, l.Do(func() { over = sock.Held() == 0 && sock.Write([]byte(client.LastChunk)) == nil }))
	}
	done(t, s)
	require.Equal(t, []string{fmt.Sprint("200 ", sent)}, s.answers)
}

func TestWhatIsDueIsDoneInTime(t *testing.T) {
	t.Parallel()
	l := loop(t, serve(t, echo))
	start := time.Now()
	calls := make(chan time.Time, 100)
	require.NoError(t, l.Do(func() {
		n := 0
		l.At(start.Add(time.Millisecond), func(now time.Time) time.Time {
			calls <- now
			if n++; n == 100 {
				return time.Time{}
			}
			return start.Add(time.Duration(n+1) * time.Millisecond)
		})
	}))
	for i := range 100 {
		require.False(t, (<-calls).Before(start.Add(time.Duration(i+1)*time.Millisecond)))
	}
}

func TestALoopThatEndsClosesItsConnections(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	l, err := client.NewLoop(addr)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- l.Run(ctx) }()
	a, b := newSeen(), newSeen()
	var first *client.Sock
	require.NoError(t, l.Do(func() {
		first, _ = l.Dial([4]byte{}, a)
		second, _ := l.Dial([4]byte{}, b)
		_ = second.Write(client.AppendGet(nil, addr, "/"))
		first.Close()
		first.Close()
	}))
	done(t, a)
	require.ErrorIs(t, a.why, client.ErrClosed)
	cancel()
	require.NoError(t, <-over)
	done(t, b)
	require.ErrorIs(t, b.why, client.ErrClosed)
	require.ErrorIs(t, first.Write(nil), client.ErrClosed)
	require.ErrorIs(t, l.Do(func() {}), client.ErrClosed)
}

func TestALostConnectionIsTold(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() {
		nc, err := listener.Accept()
		if err == nil {
			_ = nc.(*net.TCPConn).SetLinger(0)
			_ = nc.Close()
		}
		_ = listener.Close()
	})
	l := loop(t, addr)
	reset, refused := newSeen(), newSeen()
	require.NoError(t, l.Do(func() { _, err = l.Dial([4]byte{}, reset) }))
	require.NoError(t, err)
	done(t, reset)
	require.Error(t, reset.why)
	wg.Wait()
	require.NoError(t, l.Do(func() { _, err = l.Dial([4]byte{}, refused) }))
	if err == nil {
		done(t, refused)
		err = refused.why
	}
	require.ErrorContains(t, err, "refused")

	_, err = client.NewLoop("localhost")
	require.Error(t, err)
}
