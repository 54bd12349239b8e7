package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rejoin/rejoin/internal/bench"
	"github.com/rejoin/rejoin/internal/bench/floor"
	"github.com/rejoin/rejoin/internal/bench/profile"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/natsd"
)

// benchChild is the word, which no list has, that makes a process one of those that
// rejoin bench measures.
const benchChild = "bench-child"

// benchChildren are what such a process can be: a relay as rejoin relay, or one of these.
var benchChildren = []command{{name: "broker", flags: benchBroker}, {name: "sse", flags: benchSSE}, relayCommand}

// runBenchChild runs one until its standard input ends. A socket for profiles may be named
// in the environment.
func runBenchChild(ctx context.Context, args []string, std stdio) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // as long as the process
		_, _ = io.Copy(io.Discard, std.in)
		cancel()
	}()
	if socket, ok := std.env(bench.ProfileEnv); ok {
		stop, err := profile.Serve(socket)
		if err != nil {
			fmt.Fprintf(std.err, "rejoin %s: %v\n", benchChild, err)
			return exitFailed
		}
		defer stop()
	}
	for i := range benchChildren {
		if c := &benchChildren[i]; len(args) > 0 && c.name == args[0] {
			return c.run(ctx, args[1:], std)
		}
	}
	fmt.Fprintf(std.err, "rejoin %s is for rejoin bench; it takes broker, sse or relay\n", benchChild)
	return exitUsage
}

// benchBroker is a NATS server and nothing else.
func benchBroker(s *config.Set) action {
	c := natsd.Config{Listen: "127.0.0.1:0"}
	s.Add(hostPort(&c.Listen), "listen", "Where to take connections.")
	s.Add(config.Text(&c.StoreDir, "DIR", "the name of a directory", nil), "store", "Where its files are.")
	s.Add(config.Duration(&c.SyncInterval, 0, time.Hour), "sync-interval", "How often they are synced. 0 means the server's default.")
	return func(ctx context.Context, std stdio) error {
		server, err := natsd.Start(c)
		if err != nil {
			return err
		}
		defer server.Shutdown()
		fmt.Fprintf(std.out, "rejoin bench: a broker at %s\n", server.ClientURL())
		<-ctx.Done()
		return nil
	}
}

// benchSSE is a bare SSE server.
func benchSSE(s *config.Set) action {
	addr := "127.0.0.1:0"
	s.Add(hostPort(&addr), "addr", "Where to serve HTTP.")
	return func(ctx context.Context, std stdio) error {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		topics := floor.NewServer()
		server := &http.Server{Handler: topics}
		var serving sync.WaitGroup
		serving.Go(func() { err = server.Serve(ln) })
		fmt.Fprintf(std.out, "rejoin bench: bare SSE at %s\n", ln.Addr())
		<-ctx.Done()
		topics.Close()
		_ = server.Close()
		serving.Wait()
		if errors.Is(err, http.ErrServerClosed) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		return err
	}
}
