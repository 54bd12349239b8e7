package profile

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/pprof"
	"sync"
)

// Rates of the profiles that cost something while they are taken: one of so many contended
// mutexes, one of so many nanoseconds blocked.
const (
	mutexFraction = 10
	blockRate     = 10_000
)

// Serve lets Start take profiles of this process at a socket, until stop.
func Serve(socket string) (stop func(), err error) {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("profiles: %w", err)
	}
	s := &http.Server{Handler: handler()}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ln) })
	return func() {
		_ = s.Close()
		serving.Wait()
	}, nil
}

func handler() http.Handler {
	var mu sync.Mutex
	var cpu *bytes.Buffer // nil while no profile is taken
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if cpu != nil {
			http.Error(w, "a profile is being taken", http.StatusConflict)
			return
		}
		begun := new(bytes.Buffer)
		if err := pprof.StartCPUProfile(begun); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		cpu = begun
		runtime.SetMutexProfileFraction(mutexFraction)
		runtime.SetBlockProfileRate(blockRate)
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if cpu == nil {
			http.Error(w, "no profile is being taken", http.StatusConflict)
			return
		}
		pprof.StopCPUProfile()
		runtime.SetMutexProfileFraction(0)
		runtime.SetBlockProfileRate(0)
		_, _ = w.Write(cpu.Bytes())
		cpu = nil
	})
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		p := pprof.Lookup(r.PathValue("name"))
		if p == nil {
			http.Error(w, "there is no such profile", http.StatusNotFound)
			return
		}
		if p.Name() == "heap" {
			runtime.GC() // what is held, and not what was held once
		}
		_ = p.WriteTo(w, 0)
	})
	return mux
}
