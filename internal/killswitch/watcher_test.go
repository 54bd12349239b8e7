package killswitch_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// patience bounds waits that are expected to be short.
const patience = 2 * time.Minute

type fabric struct {
	*testing.T
	server *natsd.Server
	store  *runs.Store
}

func newFabric(t *testing.T, cfg natsd.Config) *fabric {
	t.Helper()
	server, err := natsd.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	f := &fabric{T: t, server: server}
	f.store = f.open()
	return f
}

func (f *fabric) open() *runs.Store {
	f.Helper()
	nc, err := f.server.Connect(nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(f, err)
	f.Cleanup(nc.Close)
	s, err := runs.Open(f.Context(), nc, runs.Config{Partitions: 1, Provision: true})
	require.NoError(f, err)
	f.Cleanup(s.Close)
	return s
}

// watch runs a watcher on a connection of its own until the test ends.
func (f *fabric) watch(cfg killswitch.Config) *killswitch.Watcher {
	f.Helper()
	cfg.Store = f.open()
	w, err := killswitch.Open(f.Context(), cfg)
	require.NoError(f, err)
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(f.Context()) })
	f.Cleanup(wg.Wait)
	return w
}

func (f *fabric) set(target killswitch.Target, percent int) {
	f.Helper()
	require.NoError(f, killswitch.Set(f.Context(), f.store, target, killswitch.Setting{Percent: percent, Reason: "r", By: "me"}))
}

// percent waits until a tenant has as many chats off.
func (f *fabric) percent(w *killswitch.Watcher, tenant string, percent int) {
	f.Helper()
	over := time.After(patience)
	for {
		changed := w.Changed()
		if w.Percent(tenant) == percent {
			return
		}
		select {
		case <-changed:
		case <-over:
			f.Fatalf("%d percent are off for %q, and not %d", w.Percent(tenant), tenant, percent)
		}
	}
}

func TestTheLargerPercentageWins(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	one, two := f.watch(killswitch.Config{}), f.watch(killswitch.Config{})
	f.set(killswitch.Tenant("a"), 40)
	for _, w := range []*killswitch.Watcher{one, two} {
		f.percent(w, "a", 40)
		require.Zero(t, w.Percent("b"))
		require.Zero(t, w.Percent(""))
	}
	f.set(killswitch.Everybody, 30)
	f.percent(two, "b", 30)
	require.Equal(t, 40, two.Percent("a"))
	f.set(killswitch.Everybody, 100)
	f.percent(two, "a", 100)
	require.True(t, two.AllOff("b"))
	f.set(killswitch.Everybody, 0)
	f.percent(two, "b", 0)
	f.percent(two, "a", 40)
	f.set(killswitch.Tenant(""), 7)
	f.percent(one, "", 7)
	require.Zero(t, one.Percent("b"), "the tenant without a name is not everybody")

	// One that comes later reads what is set.
	require.Equal(t, 40, f.watch(killswitch.Config{}).Percent("a"))
	all, err := killswitch.List(t.Context(), f.store)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.True(t, all[0].All)
	require.Equal(t, []string{"", "a"}, []string{all[1].Tenant, all[2].Tenant})
	require.Equal(t, "me", all[2].By)
	require.WithinDuration(t, time.Now(), all[2].At, patience)
	own, err := killswitch.One(t.Context(), f.store, killswitch.Tenant("a"))
	require.NoError(t, err)
	require.Equal(t, all[2].Setting, own)
	own, err = killswitch.One(t.Context(), f.store, killswitch.Tenant("nobody"))
	require.NoError(t, err)
	require.Zero(t, own)
}

func TestHostileTenantsHaveTheirOwnSwitch(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	logged := &logs{}
	w := f.watch(killswitch.Config{Logger: slog.New(slog.NewTextHandler(logged, nil))})
	tenants := []string{"all", "=all", "*", ">", "a.b", "a_b", "A", "a", "é", "e\u0301", "x\ny", " ", "\x00", strings.Repeat("=", 256)}
	for i, tenant := range tenants {
		f.set(killswitch.Tenant(tenant), i+1)
		f.percent(w, tenant, i+1)
	}
	for i, tenant := range tenants {
		require.Equal(t, i+1, w.Percent(tenant), "%q", tenant)
	}
	require.Zero(t, w.Percent(""))
	require.Zero(t, w.Percent("other"))
	require.Equal(t, len(tenants), strings.Count(logged.String(), "\n"), "one line each")
	require.Zero(t, w.Percent(strings.Repeat("a", 257)))
	require.ErrorIs(t, killswitch.Set(t.Context(), f.store, killswitch.Tenant(strings.Repeat("a", 257)), killswitch.Setting{}), killswitch.ErrSetting)
}

func TestSettingsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	for _, s := range []killswitch.Setting{{Percent: -1}, {Percent: 101}, {Reason: strings.Repeat("x", 257)}, {Reason: "\xff"}, {By: "\xff"}} {
		require.ErrorIs(t, killswitch.Set(t.Context(), f.store, killswitch.Everybody, s), killswitch.ErrSetting)
	}
	all, err := killswitch.List(t.Context(), f.store)
	require.NoError(t, err)
	require.Empty(t, all)
}

// Two who set the same switch at once: each is done, and one of them is last.
func TestSettingAtOnce(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := killswitch.Set(t.Context(), f.store, killswitch.Everybody, killswitch.Setting{Percent: i + 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, err := killswitch.One(t.Context(), f.store, killswitch.Everybody)
	require.NoError(t, err)
	require.NotZero(t, s.Percent)
	f.percent(f.watch(killswitch.Config{}), "", s.Percent)
}

// A change that the broker does not tell of, as no purge is, is found by reading.
func TestAChangeThatIsNotHeardIsRead(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	w := f.watch(killswitch.Config{Interval: 10 * time.Millisecond})
	f.set(killswitch.Tenant("a"), 50)
	f.percent(w, "a", 50)
	s, err := f.store.JetStream().Stream(t.Context(), subjects.BucketStream)
	require.NoError(t, err)
	require.NoError(t, s.Purge(t.Context()))
	f.percent(w, "a", 0)
}

func TestWhatIsNoSettingCountsAsOn(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	logged := &logs{}
	var told []int
	var mu sync.Mutex
	w := f.watch(killswitch.Config{Logger: slog.New(slog.NewTextHandler(logged, nil))})
	w.Notify(func() {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, w.Everybody())
	})
	f.set(killswitch.Everybody, 60)
	f.percent(w, "", 60)
	for _, bad := range []string{"off", `{"percent":1000}`, `{"percent":"50"}`, `{"percent":50`} {
		_, err := f.store.JetStream().Publish(t.Context(), subjects.KeySubject(subjects.SwitchAllKey), []byte(bad))
		require.NoError(t, err)
		f.percent(w, "", 0)
		f.set(killswitch.Everybody, 60)
		f.percent(w, "", 60)
	}
	// A key that is nobody's.
	_, err := f.store.JetStream().Publish(t.Context(), subjects.KeySubject("switch.=else"), []byte(`{"percent":100}`))
	require.NoError(t, err)
	f.set(killswitch.Everybody, 10)
	f.percent(w, "", 10)
	require.Equal(t, 4, strings.Count(logged.String(), "cannot be read"))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == 10
	}, patience, time.Millisecond)
	require.Equal(t, []int{60, 0, 60, 0, 60, 0, 60, 0, 60, 10}, told)
}

func TestWhileTheBrokerIsAwayTheLastSettingStays(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	logged := &logs{}
	w := f.watch(killswitch.Config{Interval: 5 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(logged, nil))})
	f.set(killswitch.Tenant("a"), 100)
	f.percent(w, "a", 100)
	f.server.Stop()
	require.Eventually(t, func() bool { return strings.Contains(logged.String(), "what was last known stays") }, patience, time.Millisecond)
	require.Equal(t, 100, w.Percent("a"))
	require.Zero(t, w.Percent("b"))
	require.NoError(t, f.server.Restart())
	require.Eventually(t, func() bool { return strings.Contains(logged.String(), "can be read again") }, patience, time.Millisecond)
	require.Equal(t, 100, w.Percent("a"))
	f.set(killswitch.Tenant("a"), 0)
	f.percent(w, "a", 0)
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
