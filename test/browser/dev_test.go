package browser_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/producer/demo"
	"github.com/rejoin/rejoin/test/harness"
)

// newDev is everything in one process, as "rejoin dev" runs it, with a short lease, behind a site.
func newDev(t *testing.T, change func(*app.Config)) *site {
	t.Helper()
	cfg := app.Config{Addr: "127.0.0.1:0", Page: true, Lease: 2 * time.Second, DemoConfig: demo.Config{Rate: 60},
		Worker: &app.WorkerConfig{Agent: app.AgentConfig{Kind: app.AgentDemo, Demo: demo.AgentConfig{Rate: 60}}, Concurrency: 64},
		Logger: slog.New(slog.NewTextHandler(verbose(t), nil))}
	if change != nil {
		change(&cfg)
	}
	a, err := app.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		a.Hurry()
		require.NoError(t, <-done)
	})
	select {
	case <-a.Ready():
	case err := <-done:
		done <- err
		require.NoError(t, err)
	case <-time.After(harness.Patience):
		t.Fatal("not ready")
	}
	return newSite(t, a.URL(), nil)
}

// The whole demo as it is shipped, without a mouse: every answer that the agent asks for, stopping, and a producer that is killed.
func TestDemo_KeyboardAndKill(t *testing.T) {
	t.Parallel()
	screen(t)
	newDev(t, nil).play(t, "demo-keys", nil, nil, nil)
}

// Nobody is kept out: axe finds nothing serious, light and dark, wide and narrow, with a question open and the wire to see.
func TestDemo_Accessible(t *testing.T) {
	t.Parallel()
	screen(t)
	newDev(t, nil).play(t, "demo-axe", nil, nil, nil)
}

// Ten tabs watch, and the page stays smooth.
func TestDemo_SmoothWithTenTabs(t *testing.T) {
	alone(t)
	newDev(t, func(c *app.Config) { c.Demo = true }).play(t, "demo-smooth", nil, nil, nil)
}
