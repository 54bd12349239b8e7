package consumer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedSnapshotIsGoodFor(t *testing.T) {
	t.Parallel()
	h := &Hub{cfg: HubConfig{GapThreshold: 400}}
	small, large := make([]byte, 100), make([]byte, sharedBytes)
	for _, c := range []struct {
		seq        uint64
		events     []byte
		head, past uint64
		want       bool
	}{
		{seq: 50, events: small, head: 50, want: true},
		{seq: 51, events: small, head: 50, want: true},
		{seq: 50, events: small, head: 51},                        // cheaper made anew
		{seq: 50, events: large, head: 150, want: true},           // a quarter of the gap threshold
		{seq: 50, events: large, head: 151},                       // too far behind
		{seq: 50, events: large, head: 100, past: 50},             // the reader has it
		{seq: 50, events: large, head: 100, past: 60},             // and more
		{seq: 50, events: small, head: 0, past: 49, want: true},   // the log is lost
		{seq: 50, events: large, head: 100, past: 49, want: true}, // one event more
	} {
		require.Equal(t, c.want, h.serves(&SnapshotData{Seq: c.seq, Events: NDJSON{c.events}}, c.head, c.past), "%d for %d after %d", c.seq, c.head, c.past)
	}
}
