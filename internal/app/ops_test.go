package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
)

// free is an address that nobody uses at the moment.
func free(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

// answer is what is said at an address, 0 where nobody is.
func answer(t *testing.T, addr, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// Where health and numbers have an address of their own, the numbers are nowhere else.
func TestNumbersHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{OpsAddr: "127.0.0.1:0"})
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 404} {
		status, _ := r.ask(http.MethodGet, path, "")
		require.Equal(t, want, status, path)
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/metrics": 200, "/chat/live?chat_id=c": 404} {
		status, _ := answer(t, r.OpsAddr(), path)
		require.Equal(t, want, status, path)
	}
	_, body := answer(t, r.OpsAddr(), "/metrics")
	require.Contains(t, body, "\nrejoin_observers 0\n")
	r.stop()
	require.NoError(t, r.wait())
	status, _ := answer(t, r.OpsAddr(), "/livez")
	require.Zero(t, status, "it is closed with the process")
}

// A process that waits for its broker is alive and not ready, whichever it is.
func TestAliveBeforeThereIsABroker(t *testing.T) {
	t.Parallel()
	nobody := "nats://" + free(t)
	for name, run := range map[string]func(context.Context, app.Config) error{
		"relay": func(ctx context.Context, c app.Config) error {
			c.Addr = "127.0.0.1:0"
			a, err := app.New(c)
			require.NoError(t, err)
			return a.Run(ctx)
		},
		"worker": func(ctx context.Context, c app.Config) error {
			c.Worker = &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo}}
			return app.RunWorker(ctx, c, nil)
		},
		"janitor": app.RunJanitor,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		addr := free(t)
		done := make(chan error, 1)
		go func() { done <- run(ctx, app.Config{NATS: nobody, Connect: time.Hour, OpsAddr: addr}) }()
		require.Eventually(t, func() bool {
			status, _ := answer(t, addr, "/livez")
			return status == http.StatusOK
		}, patience, 5*time.Millisecond, name)
		status, body := answer(t, addr, "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status, name)
		require.Contains(t, body, "starting", name)
		cancel()
		require.NoError(t, <-done, name)
	}
}

func TestAnOpsAddrThatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	err = app.RunJanitor(t.Context(), app.Config{NATS: "nats://" + free(t), OpsAddr: ln.Addr().String()})
	require.ErrorIs(t, err, app.ErrOpsAddr)
	require.ErrorIs(t, err, app.ErrAddrInUse)
	require.ErrorContains(t, err, ln.Addr().String())
}

// A relay with a drain delay serves on, unready, until it is hurried.
func TestADrainDelayEndsWithHurry(t *testing.T) {
	t.Parallel()
	r := boot(t, app.Config{DrainDelay: time.Hour})
	r.stop()
	require.Eventually(t, func() bool {
		status, _ := r.ask(http.MethodGet, "/readyz", "")
		return status == http.StatusServiceUnavailable
	}, patience, 5*time.Millisecond)
	id := r.start(`{"chat_id":"c"}`)
	status, body := r.ask(http.MethodPost, "/runs/"+id+"/events", `{"type":"A"}`)
	require.Equal(t, http.StatusOK, status, body)
	r.Hurry()
	require.NoError(t, r.wait())
	_, err := app.New(app.Config{DrainDelay: -1})
	require.ErrorIs(t, err, app.ErrConfig)
}
