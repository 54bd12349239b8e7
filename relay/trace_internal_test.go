package relay

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/tracing"
)

// A request in no trace costs nothing for it where nothing is recorded, and one in a trace
// goes on in it.
func TestAnUntracedRequestCostsNothing(t *testing.T) {
	s := &Server{}
	seen := ""
	h := s.traced(route{http.MethodPost, "/chat/live", watcher, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = tracing.ID(r.Context())
		traceRun(tracing.Current(r.Context()), "c", "0-x")
		traceFrames(tracing.Current(r.Context()), nil)
		traceClosed(tracing.Current(r.Context()), "1", causeEnd, 7)
	})})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/chat/live", http.NoBody)
	w := httptest.NewRecorder()
	require.Zero(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }))
	require.Empty(t, seen)
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	r.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	h.ServeHTTP(w, r)
	require.Equal(t, id, seen)
}

// What is asked for every single event, or by probes, is no span.
func TestRoutesThatAreNoSpan(t *testing.T) {
	t.Parallel()
	s := &Server{}
	for pattern, a := range map[string]access{"/runs/{run_id}/events": producer, "/runs/{run_id}/heartbeat": producer, "/livez": public} {
		called := false
		h := s.traced(route{http.MethodPost, pattern, a, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			called = true
			require.Empty(t, tracing.ID(r.Context()))
		})})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		h.ServeHTTP(httptest.NewRecorder(), r)
		require.True(t, called)
	}
}
