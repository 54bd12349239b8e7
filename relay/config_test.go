package relay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
)

func TestConfigurationsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]relay.Config{
		"Hub and Store are required": {},
		"KeepAlive is 16s":           {KeepAlive: 16 * time.Second},
		"WriteTimeout is -1s":        {WriteTimeout: -time.Second},
		"MaxObservers is -1":         {MaxObservers: -1},
	} {
		if want != "Hub and Store are required" {
			c.Hub, c.Store = new(consumer.Hub), new(runs.Store)
		}
		_, err := relay.New(c)
		require.ErrorIs(t, err, relay.ErrConfig)
		require.ErrorContains(t, err, want)
	}
}
