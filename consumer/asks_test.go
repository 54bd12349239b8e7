package consumer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// Whoever writes what a reader gives is told before Poll is away for long, and not for what
// comes live.
func TestReaderSaysBeforeItAsks(t *testing.T) {
	t.Parallel()
	f := newFabric(t, consumer.HubConfig{})
	for _, name := range []string{"a snapshot", "the log"} {
		asked, r := 0, f.start(name, 1)
		for range 3 {
			r.publish(1)
		}
		opt := consumer.ReadOptions{}
		if name == "the log" {
			opt = r.cursor(0)
		}
		opt.Asks = func() { asked++ }
		o, reader := &observer{t: t}, r.open(opt)
		for o.seq < r.seq {
			frame, ok, err := reader.Poll(t.Context())
			require.NoError(t, err)
			require.True(t, ok)
			require.Positive(t, asked, name)
			o.apply(frame)
		}
		o.poll(reader)
		asked = 0
		for range 3 {
			changed := reader.Changed()
			r.publish(2)
			<-changed
			o.poll(reader)
		}
		require.Zero(t, asked, name)
		require.Equal(t, r.text(r.seq), o.text)
		reader.Close()
	}
}
