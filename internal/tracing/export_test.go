package tracing_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/test/collector"
)

const patience = 2 * time.Minute

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(t *testing.T, cfg tracing.Config) *tracing.Exporter {
	t.Helper()
	if cfg.Getenv == nil {
		cfg.Getenv = env()
	}
	cfg.Service = "me"
	e, err := tracing.Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NotNil(t, e)
	return e
}

func end(t *testing.T, e *tracing.Exporter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e.Close(ctx)
}

func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	e := open(t, tracing.Config{Endpoint: c.URL})
	tracer := tracing.New(e.Provider())
	ctx, request := tracer.Start(tracing.FromHTTP(t.Context(), header(sampled)), "POST /chat/send", tracing.Server)
	request.Token("rejoin.chat", "a.b é")
	request.Token("rejoin.tenant", "")
	request.Token("rejoin.long", strings.Repeat("x", 300))
	request.Number("http.response.status_code", 202)
	tracer.Past(ctx, "queue", time.Now().Add(-time.Minute))
	_, child := tracing.Child(ctx, "POST", tracing.Client)
	child.Fail("refused")
	require.True(t, child.Recording())
	child.End()
	request.End()
	end(t, e)
	named := func(name string) collector.Span {
		return c.Await(t, name, func(s collector.Span) bool { return s.Name == name })
	}
	root, queue, post := named("POST /chat/send"), named("queue"), named("POST")
	require.Equal(t, "me", root.Service)
	require.Equal(t, []string{traceID, "00f067aa0ba902b7", "SERVER"}, []string{root.Trace, root.Parent, root.Kind})
	require.Equal(t, "a_2Eb_20_C3_A9", root.Text["rejoin.chat"])
	require.NotContains(t, root.Text, "rejoin.tenant")
	require.NotContains(t, root.Text, "rejoin.long")
	require.EqualValues(t, 202, root.Numbers["http.response.status_code"])
	require.Equal(t, []string{traceID, root.ID}, []string{queue.Trace, queue.Parent})
	require.GreaterOrEqual(t, queue.To.Sub(queue.From), time.Minute)
	require.Equal(t, []string{traceID, root.ID, "CLIENT", "refused"}, []string{post.Trace, post.Parent, post.Kind, post.Error})

	// After Close nothing is recorded, and nothing breaks.
	_, late := tracer.Start(t.Context(), "late", tracing.Server)
	late.End()
	end(t, e)
	require.Len(t, c.Spans(), 3)
}

func TestWhoseTracesAreRecorded(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	none := 0.0
	e := open(t, tracing.Config{Endpoint: c.URL + "/", Ratio: &none})
	tracer := tracing.New(e.Provider())
	for name, parent := range map[string]string{"begins here": "", "not wanted": unsampled, "wanted": sampled} {
		ctx, span := tracer.Start(tracing.FromHTTP(t.Context(), header(parent)), name, tracing.Server)
		if parent == unsampled {
			out := http.Header{}
			tracing.Inject(ctx, out)
			require.True(t, strings.HasPrefix(out.Get("Traceparent"), "00-"+traceID), "it goes on all the same")
			require.True(t, strings.HasSuffix(out.Get("Traceparent"), "-00"))
		}
		span.End()
	}
	end(t, e)
	spans := c.Spans()
	require.Len(t, spans, 1)
	require.Equal(t, "wanted", spans[0].Name)
}

func TestWhatIsConfigured(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, cfg := range map[string]tracing.Config{
		"nothing":     {Getenv: env()},
		"disabled":    {Endpoint: "http://127.0.0.1:1", Getenv: env("OTEL_SDK_DISABLED", "TRUE")},
		"no exporter": {Getenv: env(endpoint, "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none")},
	} {
		e, err := tracing.Open(t.Context(), cfg)
		require.NoError(t, err, name)
		require.Nil(t, e, name)
		require.Nil(t, e.Provider())
		require.Nil(t, tracing.New(e.Provider()))
		end(t, e)
	}
	half, more := 0.5, 1.5
	for name, cfg := range map[string]tracing.Config{
		"endpoint":     {Endpoint: "collector:4318", Getenv: env()},
		"the endpoint": {Endpoint: "ftp://collector", Ratio: &half, Getenv: env()},
		"ratio":        {Ratio: &more, Getenv: env()},
		"PROTOCOL":     {Getenv: env(endpoint, "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")},
	} {
		_, err := tracing.Open(t.Context(), cfg)
		require.ErrorIs(t, err, tracing.ErrConfig, name)
		require.ErrorContains(t, err, name)
	}
}

// A collector that is away, or never answers, holds nobody up: not who records, and not
// who stops.
func TestACollectorThatDoesNotTakeSpans(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(stuck.Close)
	t.Cleanup(func() { close(hang) })
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	away := "http://secret:word@" + ln.Addr().String()
	require.NoError(t, ln.Close())
	for _, url := range []string{away, stuck.URL} {
		logged := &logs{}
		e := open(t, tracing.Config{Endpoint: url, Logger: slog.New(slog.NewTextHandler(logged, nil))})
		tracer := tracing.New(e.Provider())
		for range 20_000 { // ten times as many as may wait
			_, span := tracer.Start(t.Context(), "x", tracing.Server)
			span.End()
		}
		ctx, cancel := context.WithCancel(t.Context())
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			e.Close(ctx)
		}()
		cancel()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Fatal("Close waits longer than it may")
		}
		require.NotContains(t, logged.String(), "word")
	}
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
