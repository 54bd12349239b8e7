package worker

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer"
)

// A replica that lags shows an older message after a newer one was heard: none is lost and
// they keep their order.
func TestMessagesThatOvertakeEachOther(t *testing.T) {
	t.Parallel()
	j := &job{steering: make(chan json.RawMessage, maxSteering), ahead: map[int]producer.Control{}, log: slog.New(slog.DiscardHandler)}
	for _, n := range []string{"1", "3", "4", "3", "2", "4", "5"} {
		j.input(producer.Control{Kind: producer.ControlInput, ID: n, Body: json.RawMessage(n)})
	}
	for n := 1; n <= 5; n++ {
		require.Equal(t, strconv.Itoa(n), string(<-j.steering))
	}
	require.Empty(t, j.steering)
	require.Empty(t, j.ahead)
	j.input(producer.Control{Kind: producer.ControlInput, ID: "7", Body: json.RawMessage("7")})
	require.Equal(t, 5, j.inputs, "where the end looks for what was missed")
}
