package permissions_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/runs"
)

// Who may not switch is told so by the broker's refusal, and not by waiting in vain.
func TestAUserWhoMayNotSwitchIsToldAtOnce(t *testing.T) {
	t.Parallel()
	b := boot(t)
	_, err := app.Init(t.Context(), b.as("provisioner"), false)
	require.NoError(t, err)
	off := &killswitch.Setting{Percent: 100}
	cfg := b.as("worker")
	cfg.Connect = time.Hour
	_, err = app.Switches(t.Context(), cfg, killswitch.Everybody, off)
	require.ErrorIs(t, err, runs.ErrForbidden)
	require.ErrorContains(t, err, "$KV.rejoin.switch.=all")
	_, err = app.Switches(t.Context(), b.as("relay"), killswitch.Everybody, off)
	require.NoError(t, err)
}

// A relay whose user may not sweep, and which tries to all the same, says what to do.
func TestARelayThatMayNotSweepSaysWhatToDo(t *testing.T) {
	t.Parallel()
	b := boot(t)
	_, err := app.Init(t.Context(), b.as("provisioner"), false)
	require.NoError(t, err)
	cfg := b.as("relay")
	cfg.NoJanitor = false
	log := &lines{}
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	b.serve(cfg)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "may not sweep") }, patience, 10*time.Millisecond)
	said := log.String()
	require.Contains(t, said, "--janitor=false")
	require.Contains(t, said, "$JS.API.DIRECT.GET.KV_rejoin_leases")
	require.NotContains(t, said, "deadline exceeded")
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
