package ops

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rejoin/rejoin/internal/problem"
)

// Bounds of one scrape: how long it may take, and how many there may be at once.
const (
	scrapeTimeout = 10 * time.Second
	maxScrapes    = 8
)

// Metrics serves the numbers. What cannot be gathered is left out, and the rest served.
func Metrics(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{Timeout: scrapeTimeout, MaxRequestsInFlight: maxScrapes,
		ErrorHandling: promhttp.ContinueOnError})
}

// Handler serves /livez, /readyz and /metrics, for GET and HEAD. ready says why the process
// is not ready, nil that it is.
func Handler(g prometheus.Gatherer, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { status(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			p := problem.New(problem.Unavailable, "not ready: %v", err).After(time.Second)
			p.Status = http.StatusServiceUnavailable
			problem.Write(w, p)
			return
		}
		status(w, "ready")
	})
	mux.Handle("GET /metrics", Metrics(g))
	return mux
}

func status(w http.ResponseWriter, s string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(`{"status":"` + s + `"}` + "\n"))
}
