package runs_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// empty is a broker without a fabric.
func empty(t *testing.T) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	server, err := natsd.Start(natsd.Config{})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	nc, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return nc, js
}

func due(assets []runs.Asset) (names []string) {
	for _, a := range assets {
		if a.Due() {
			names = append(names, a.Name)
		}
	}
	return names
}

var everything = []string{"KV_rejoin", "KV_rejoin_leases", "TURNS", "CONTROL", "HISTORY", "RUNS_0", "RUNS_1", "TURNS > workers"}

func TestProvisionMakesWhatIsMissingOnce(t *testing.T) {
	t.Parallel()
	nc, js := empty(t)
	cfg := runs.Config{Partitions: 2}
	would, err := runs.Provision(t.Context(), nc, cfg, true)
	require.NoError(t, err)
	require.Equal(t, everything, due(would))
	_, err = js.Stream(t.Context(), subjects.BucketStream)
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "a look changes nothing")
	_, err = runs.Open(t.Context(), nc, runs.Config{})
	require.ErrorIs(t, err, runs.ErrNotProvisioned)

	made, err := runs.Provision(t.Context(), nc, cfg, false)
	require.NoError(t, err)
	require.Equal(t, would, made)
	again, err := runs.Provision(t.Context(), nc, runs.Config{}, false)
	require.NoError(t, err)
	require.Len(t, again, len(everything))
	require.Empty(t, due(again))

	// What somebody deletes comes back, and nothing else is touched.
	require.NoError(t, js.DeleteStream(t.Context(), "RUNS_0"))
	require.NoError(t, js.DeleteConsumer(t.Context(), subjects.TurnsStream, subjects.Workers))
	_, err = runs.Open(t.Context(), nc, runs.Config{})
	require.ErrorIs(t, err, runs.ErrNotProvisioned)
	require.ErrorContains(t, err, "RUNS_0")
	made, err = runs.Provision(t.Context(), nc, runs.Config{}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"RUNS_0", "TURNS > workers"}, due(made))
	made, err = runs.Provision(t.Context(), nc, runs.Config{Partitions: 3}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"RUNS_2"}, due(made))
	s, err := runs.Open(t.Context(), nc, runs.Config{})
	require.NoError(t, err)
	s.Close()
	require.Equal(t, 3, s.Partitions())
}

// Settings of an older version, or of somebody's, are brought up to date; what operators
// may choose stays theirs.
func TestProvisionUpgradesAndLeavesWhatIsTheOperators(t *testing.T) {
	t.Parallel()
	nc, js := empty(t)
	_, err := runs.Provision(t.Context(), nc, runs.Config{Partitions: 1}, false)
	require.NoError(t, err)
	change := func(name string, f func(*jetstream.StreamConfig)) {
		st, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		c := st.CachedInfo().Config
		f(&c)
		_, err = js.UpdateStream(t.Context(), c)
		require.NoError(t, err)
	}
	change("RUNS_0", func(c *jetstream.StreamConfig) {
		c.MaxAge, c.RePublish = time.Hour, nil
		c.MaxMsgsPerSubject = 2 * subjects.MaxRecordsPerRun // more than is needed
		c.Metadata = map[string]string{"team": "chat"}
	})
	change("HISTORY", func(c *jetstream.StreamConfig) {
		c.MaxAge, c.MaxBytes, c.Compression = 90*24*time.Hour, 1<<30, jetstream.S2Compression
	})
	changes := []string{"max_age 1h0m0s to 24h0m0s", "republish nothing to rejoin.run.0.> as rejoin.live.0.>"}
	for _, dry := range []bool{true, false} {
		made, err := runs.Provision(t.Context(), nc, runs.Config{}, dry)
		require.NoError(t, err)
		require.Equal(t, []string{"RUNS_0"}, due(made))
		require.Equal(t, changes, made[5].Changes)
	}
	st, err := js.Stream(t.Context(), "RUNS_0")
	require.NoError(t, err)
	c := st.CachedInfo().Config
	require.Equal(t, subjects.LogMaxAge, c.MaxAge)
	require.NotNil(t, c.RePublish)
	require.EqualValues(t, 2*subjects.MaxRecordsPerRun, c.MaxMsgsPerSubject)
	require.Equal(t, "chat", c.Metadata["team"])
	st, err = js.Stream(t.Context(), "HISTORY")
	require.NoError(t, err)
	require.Equal(t, 90*24*time.Hour, st.CachedInfo().Config.MaxAge)
}

// What would cost data is refused, and nothing is changed then.
func TestProvisionRefusesToLoseAnything(t *testing.T) {
	t.Parallel()
	nc, js := empty(t)
	_, err := runs.Provision(t.Context(), nc, runs.Config{Partitions: 2}, false)
	require.NoError(t, err)
	_, err = runs.Provision(t.Context(), nc, runs.Config{Partitions: 1}, false)
	require.ErrorIs(t, err, runs.ErrRefused)
	require.ErrorContains(t, err, "2 partitions exist and 1 were asked for")

	require.NoError(t, js.DeleteStream(t.Context(), "RUNS_1"))
	for name, f := range map[string]func(*jetstream.StreamConfig){
		"storage":   func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"retention": func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"5 messages of a subject": func(c *jetstream.StreamConfig) {
			c.MaxMsgsPerSubject = 5
		},
	} {
		require.NoError(t, js.DeleteStream(t.Context(), subjects.ControlStream))
		c := subjects.ControlConfig(1)
		f(&c)
		_, err = js.CreateStream(t.Context(), c)
		require.NoError(t, err)
		for _, dry := range []bool{true, false} {
			_, err = runs.Provision(t.Context(), nc, runs.Config{Partitions: 2}, dry)
			require.ErrorIs(t, err, runs.ErrRefused)
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, subjects.ControlStream)
		}
		_, err = js.Stream(t.Context(), "RUNS_1")
		require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "nothing was made")
		_, err = runs.Open(t.Context(), nc, runs.Config{Provision: true})
		require.ErrorIs(t, err, runs.ErrRefused)
	}
}
