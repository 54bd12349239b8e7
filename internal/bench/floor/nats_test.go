package floor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/floor"
	"github.com/rejoin/rejoin/internal/natsd"
)

func TestBareNATS(t *testing.T) {
	t.Parallel()
	server, err := natsd.Start(natsd.Config{})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	out, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(out.Close)
	in, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(in.Close)

	type message struct {
		run  int
		data string
	}
	got := make(chan message, 3)
	p, err := floor.NewPubSub(out, in, func(run int, data []byte) { got <- message{run, string(data)} })
	require.NoError(t, err)
	require.NoError(t, p.Publish(7, []byte("a")))
	require.NoError(t, p.Publish(0, []byte("b")))
	require.NoError(t, p.Flush())
	require.Equal(t, message{7, "a"}, <-got)
	require.Equal(t, message{0, "b"}, <-got)
	require.NoError(t, p.Close())

	for _, subjects := range []int{0, 1, 100} {
		rate, err := floor.AsyncPublish(t.Context(), out, subjects, 200, 20*time.Millisecond)
		require.NoError(t, err)
		require.Positive(t, rate)
	}
}
