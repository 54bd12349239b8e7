package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/test/harness"
)

// BRK-01: a relay that has lost the broker for longer than it may sends its readers
// away, those too that have everything and only wait, and takes no new ones; on
// another relay they miss nothing.
func TestBRK01_ALongOutageSendsReadersElsewhere(t *testing.T) {
	t.Parallel()
	ctx := bounded(t)
	f := harness.New(t, harness.Config{Broker: harness.Networked(t)})
	cut := f.Relay(harness.RelayConfig{
		Relay: relay.Config{BrokerPatience: 300 * time.Millisecond},
		Hub:   consumer.HubConfig{Silence: 200 * time.Millisecond},
	})
	other := f.Relay(harness.RelayConfig{})
	run := f.Start(f.Producer(f.Connect()), "chat")
	f.Publish(run, 1, 10)

	// One request each, so that it shows when the relay lets go.
	var observers []*harness.Observer
	var streams []*consumer.Stream
	client := cut.Client()
	client.MaxAttempts = 1
	for range 5 {
		o, s := &harness.Observer{}, client.Watch(ctx, consumer.Watch{ChatID: "chat"})
		defer s.Close()
		require.NoError(t, o.Until(ctx, s, 10))
		observers, streams = append(observers, o), append(streams, s)
	}

	cut.Proxy.Refuse(true)
	cut.Proxy.Cut()
	for i, o := range observers {
		require.ErrorIs(t, o.ToEnd(ctx, streams[i]), consumer.ErrInterrupted)
		require.Nil(t, o.End)
	}
	require.EqualValues(t, len(observers), cut.Number("rejoin_streams_closed_total", "broker"))
	for _, path := range []string{"/readyz", "/chat/live?chat_id=chat"} {
		resp, err := http.Get(cut.URL + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, path)
	}

	f.Publish(run, 11, 20)
	_, err := run.Finish(ctx, producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	for _, o := range observers {
		w := consumer.Watch{ChatID: "chat", RunID: o.RunID, AfterSeq: &o.Seq}
		s := other.Client().Watch(ctx, w)
		defer s.Close()
		require.NoError(t, o.ToEnd(ctx, s))
		require.NoError(t, o.Holds(20))
		require.Equal(t, 1, o.Snapshots, "the first one: the cursor was good")
	}
	cut.Proxy.Refuse(false)
}
