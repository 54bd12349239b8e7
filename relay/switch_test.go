package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
)

// switched makes a relay look at the kill switch.
func switched(t *testing.T, more func(*relay.Config)) func(*relay.Config) {
	return func(c *relay.Config) {
		t.Helper()
		w, err := killswitch.Open(t.Context(), killswitch.Config{Store: c.Store, Logger: c.Logger})
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() { w.Run(t.Context()) })
		t.Cleanup(wg.Wait)
		c.Switch = w
		if more != nil {
			more(c)
		}
	}
}

// beside starts another relay on the same broker, with a connection of its own.
func (f *fabric) beside(change func(*relay.Config)) *fabric {
	f.t.Helper()
	g := &fabric{t: f.t, logs: &logs{}, narrow: f.narrow, served: make(chan error, 1), broker: f.broker}
	nc, err := f.broker.Connect(nats.ReconnectWait(20*time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(f.t, err)
	f.t.Cleanup(nc.Close)
	g.store, err = runs.Open(f.t.Context(), nc, runs.Config{})
	require.NoError(f.t, err)
	f.t.Cleanup(g.store.Close)
	metrics := relay.NewMetrics(nil)
	g.hub = consumer.NewHub(consumer.HubConfig{Store: g.store, Metrics: metrics.Hub()})
	f.t.Cleanup(g.hub.Close)
	cfg := relay.Config{Hub: g.hub, Store: g.store, Metrics: metrics, DrainWindow: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(g.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	change(&cfg)
	g.relay, err = relay.New(cfg)
	require.NoError(f.t, err)
	g.serve()
	return g
}

// flip sets the switch through the admin API.
func (f *fabric) flip(body string) (v struct {
	All     bool
	Tenant  *string
	Percent int
	By      string
}) {
	f.t.Helper()
	a := f.do(http.MethodPut, "/admin/switch", body)
	require.Equal(f.t, http.StatusOK, a.status, a.body)
	require.NoError(f.t, json.Unmarshal([]byte(a.body), &v))
	return v
}

// inForce waits until a relay answers a request for a chat as it should.
func (f *fabric) inForce(status int, body string) answer {
	f.t.Helper()
	over := time.Now().Add(patience)
	for {
		a := f.do(http.MethodPost, "/chat/live", body)
		if a.status == status {
			return a
		}
		require.True(f.t, time.Now().Before(over), "%d %s", a.status, a.body)
	}
}

func (f *fabric) off(a answer) {
	f.t.Helper()
	require.Equal(f.t, http.StatusServiceUnavailable, a.status, a.body)
	require.Equal(f.t, "switched_off", a.problem(f.t).Code)
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	require.NoError(f.t, err)
	require.GreaterOrEqual(f.t, seconds, 5)
	require.LessOrEqual(f.t, seconds, 15)
}

// Switching off closes what is open on every relay, between frames and with retry, and
// refuses what comes. Everything else goes on, and nothing is missing afterwards.
func TestSwitchedOffAndOnAgain(t *testing.T) {
	t.Parallel()
	f := newChats(t, turns.Config{}, switched(t, nil))
	g := f.beside(switched(t, nil))
	r := f.start("c")
	r.deltas(3)
	const live = `{"chat_id":"c","protocol":1}`
	here, there := f.live(live), g.live(live)
	here.until(3)
	there.until(3)
	waits := make(chan answer, 1)
	go func() {
		waits <- g.do(http.MethodPost, "/chat/live", `{"chat_id":"idle","protocol":1,"wait_ms":30000}`)
	}()
	g.waiting(1)

	set := f.flip(`{"percent":100,"reason":"too much"}`)
	require.True(t, set.All)
	for _, o := range []*observer{here, there} {
		require.Positive(t, o.left(), "the stream ends with retry")
	}
	g.off(<-waits)
	f.eventually(`rejoin_streams_closed_total{cause="switched_off"}`, 1)
	f.eventually("rejoin_switched_off_percent", 100)
	for _, g := range []*fabric{f, g} {
		g.off(g.inForce(http.StatusServiceUnavailable, live))
		g.off(g.do(http.MethodGet, "/chat/live?chat_id=c", ""))
		require.Positive(t, g.number(`rejoin_observers_refused_total{why="switched_off"}`))
	}
	// A message with its stream is refused before it is sent; without one it is taken.
	f.off(f.do(http.MethodPost, "/chat", `{"chat_id":"d","protocol":1,"input":{"text":"x"},"client_token":"once"}`))
	require.Zero(t, f.number(`rejoin_turns_taken_total{how="started"}`))
	sent := f.send("d", `,"client_token":"once"`)
	r.deltas(2)
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/runs/"+r.id()+"/snapshot", "").status)
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/runs/"+r.id(), "").status)
	require.Equal(t, http.StatusOK, f.do(http.MethodGet, "/chat/c/history", "").status)
	f.post(http.StatusAccepted, "/chat/stop", fmt.Sprintf(`{"chat_id":"d","run_id":%q}`, sent.RunID))
	require.Equal(t, http.StatusOK, g.do(http.MethodGet, "/readyz", "").status)

	f.flip(`{"percent":0}`)
	again := fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q,"after_seq":3}`, r.id())
	var o *observer
	require.Eventually(t, func() bool { return g.number("rejoin_switched_off_percent") == 0 }, patience, time.Millisecond)
	o = g.live(again)
	o.seq, o.text = there.seq, there.text
	o.until(5)
	require.Equal(t, text(5), o.text)
	require.Zero(t, o.snapshots, "nothing was lost, so nothing is told twice")
	require.Equal(t, 2, strings.Count(f.logs.String(), `msg="watching is switched"`))
	require.NotContains(t, f.logs.String(), "level=ERROR")
}

// left reads to the end of a stream that was told to leave, and gives its retry.
func (o *observer) left() time.Duration {
	o.t.Helper()
	for {
		m, err := o.sse.Next()
		if err != nil {
			return o.sse.Retry()
		}
		o.take(m.Data)
	}
}

// A percentage takes the same chats on every relay, and only those.
func TestAPercentageOfChatsIsOff(t *testing.T) {
	t.Parallel()
	f := newFabric(t, switched(t, nil))
	g := f.beside(switched(t, nil))
	off, on := "", ""
	for i := 0; off == "" || on == ""; i++ {
		if chat := fmt.Sprint("chat", i); killswitch.Off("", chat, 50) {
			off = chat
		} else {
			on = chat
		}
	}
	live := func(chat string) string { return fmt.Sprintf(`{"chat_id":%q,"protocol":1}`, chat) }
	for _, chat := range []string{off, on} {
		f.start(chat).deltas(1)
	}
	stays, goes := g.live(live(on)), g.live(live(off))
	stays.until(1)
	goes.until(1)
	f.flip(`{"percent":50}`)
	require.Positive(t, goes.left())
	f.off(f.inForce(http.StatusServiceUnavailable, live(off)))
	f.live(live(on)).until(1)
	require.Equal(t, 1.0, g.number("rejoin_observers"))
	// The tenant's own setting counts where it is the larger one.
	f.flip(`{"tenant":"","percent":100}`)
	require.Positive(t, stays.left())
	f.flip(`{"percent":0}`)
	require.Eventually(t, func() bool { return g.number("rejoin_switched_off_percent") == 0 }, patience, time.Millisecond)
	g.off(g.do(http.MethodPost, "/chat/live", live(on)))
}

func TestSwitchAdmin(t *testing.T) {
	t.Parallel()
	f := newFabric(t, switched(t, nil))
	for body, words := range map[string]string{
		``:                             "empty",
		`{}`:                           "percent is missing",
		`{"reason":"x"}`:               "percent is missing",
		`{"percent":-1}`:               "percent",
		`{"percent":101}`:              "100",
		`{"percent":"50"}`:             "percent",
		`{"percent":0.5}`:              "percent",
		`{"percent":1,"tenant":7}`:     "tenant",
		`{"percent":1,"reason":["x"]}`: "reason",
		`{"percent":1,"tenant":"` + long(257) + `"}`: "tenant",
		`{"percent":1,"reason":"` + long(257) + `"}`: "reason",
	} {
		a := f.do(http.MethodPut, "/admin/switch", body)
		require.Equal(t, http.StatusBadRequest, a.status, "%s: %s", body, a.body)
		require.Contains(t, a.problem(t).Detail, words, body)
	}
	show := func() string { return f.do(http.MethodGet, "/admin/switch", "").body }
	require.JSONEq(t, `{"switches":[],"percent":0}`, show())
	f.flip(`{"percent":7,"reason":"<b>\n"}`)
	set := f.flip(`{"tenant":"a\nb","percent":100}`)
	require.Equal(t, "a\nb", *set.Tenant)
	require.Equal(t, "admin API", set.By)
	var v struct {
		Percent  int
		Switches []struct {
			All     bool
			Tenant  *string
			Percent int
			Reason  string
			At      time.Time
		}
	}
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(show()), &v))
		return v.Percent == 7
	}, patience, time.Millisecond)
	require.Len(t, v.Switches, 2)
	require.True(t, v.Switches[0].All)
	require.Equal(t, "<b>\n", v.Switches[0].Reason)
	require.Equal(t, "a\nb", *v.Switches[1].Tenant)
	require.WithinDuration(t, time.Now(), v.Switches[1].At, patience)
	a := f.do(http.MethodDelete, "/admin/switch", "")
	require.Equal(t, http.StatusMethodNotAllowed, a.status)
	require.Equal(t, "GET, PUT", a.header.Get("Allow"))

	f.broker.Shutdown()
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		require.Equal(t, http.StatusServiceUnavailable, f.do(method, "/admin/switch", `{"percent":1}`).status)
	}
	// Without a switch nothing of it exists.
	g := newFabric(t, nil)
	require.Equal(t, http.StatusNotFound, g.do(http.MethodGet, "/admin/switch", "").status)
}

// An admin switches its own tenant, and everybody where there is but one.
func TestSwitchAdminOfATenant(t *testing.T) {
	t.Parallel()
	f := newFabric(t, switched(t, func(c *relay.Config) { c.Auth = tokens{} }))
	put := func(status int, token, body string) (v struct {
		All    bool
		Tenant *string
		By     string
	}) {
		t.Helper()
		a := f.do(http.MethodPut, "/admin/switch", body, as(token)...)
		require.Equal(t, status, a.status, a.body)
		require.NoError(t, json.Unmarshal([]byte(a.body), &v))
		return v
	}
	for _, token := range []string{"acme/eve/observer", "acme/eve/producer", "acme/eve/observer,producer"} {
		require.Equal(t, http.StatusForbidden, f.do(http.MethodGet, "/admin/switch", "", as(token)...).status)
		put(http.StatusForbidden, token, `{"percent":100}`)
	}
	set := put(http.StatusOK, "acme/boss/admin", `{"percent":100}`)
	require.Equal(t, "acme", *set.Tenant, "without a tenant it is the admin's own")
	require.Equal(t, "boss", set.By)
	put(http.StatusOK, "acme/boss/admin", `{"tenant":"acme","percent":100}`)
	for _, other := range []string{"other", "", "=all", "ACME"} {
		put(http.StatusForbidden, "acme/boss/admin", fmt.Sprintf(`{"tenant":%q,"percent":100}`, other))
	}
	live := func(token string) int {
		return f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(token)...).status
	}
	require.Eventually(t, func() bool { return live("acme/bob/observer") == http.StatusServiceUnavailable }, patience, time.Millisecond)
	require.Equal(t, http.StatusNoContent, live("other/bob/observer"))
	mine := f.do(http.MethodGet, "/admin/switch", "", as("acme/boss/admin")...).body
	require.Contains(t, mine, `"tenant":"acme","percent":100`)
	theirs := f.do(http.MethodGet, "/admin/switch", "", as("other/boss/admin")...).body
	require.NotContains(t, theirs, "acme")
	require.JSONEq(t, `{"switches":[{"tenant":"other","percent":0,"reason":"","by":"","at":null}],"percent":0}`, theirs)
	// Where tokens have no tenant there is one, which is everybody.
	require.True(t, put(http.StatusOK, "/boss/admin", `{"percent":100}`).All)
	require.Eventually(t, func() bool { return live("/bob/observer") == http.StatusServiceUnavailable }, patience, time.Millisecond)
}

// The setting outlives the broker's absence and the relay's own start.
func TestASwitchOutlivesTheBroker(t *testing.T) {
	t.Parallel()
	f := newFabric(t, switched(t, nil))
	f.start("c").deltas(1)
	const live = `{"chat_id":"c","protocol":1}`
	f.flip(`{"percent":100}`)
	f.off(f.inForce(http.StatusServiceUnavailable, live))
	g := f.beside(switched(t, nil)) // starts switched off
	g.off(g.do(http.MethodPost, "/chat/live", live))
	f.broker.Shutdown()
	f.off(f.do(http.MethodPost, "/chat/live", live))
}

// The Go client tells its application at once, and has kept its place.
func TestTheClientOfAChatThatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	f := newFabric(t, switched(t, nil))
	r := f.start("c")
	r.deltas(2)
	client := &consumer.Client{BaseURL: f.url, HTTP: f.client}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := client.Watch(ctx, consumer.Watch{ChatID: "c"})
	frame, err := s.Next(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, frame.Seq)
	f.flip(`{"percent":100}`)
	_, err = s.Next(ctx)
	require.ErrorIs(t, err, consumer.ErrSwitchedOff)
	var status *consumer.HTTPError
	require.ErrorAs(t, err, &status)
	require.Positive(t, status.RetryAfter)
	require.NoError(t, s.Close())
	r.deltas(1)
	run, seq := s.Cursor()
	snap, err := client.Snapshot(ctx, run, "")
	require.NoError(t, err)
	require.EqualValues(t, 3, snap.Seq)
	f.flip(`{"percent":0}`)
	f.eventually("rejoin_switched_off_percent", 0)
	s = client.Watch(ctx, consumer.Watch{ChatID: "c", RunID: run, AfterSeq: &seq})
	frame, err = s.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, consumer.Event, frame.Type)
	require.EqualValues(t, 3, frame.Seq)
	require.NoError(t, s.Close())
}
