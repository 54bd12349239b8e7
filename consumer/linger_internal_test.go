package consumer

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// What a tail hears after its last observer has left counts, too.
func TestKeptTailsAreMeasuredAnew(t *testing.T) {
	t.Parallel()
	var k kept
	var all []*observed
	for range 1000 {
		o := &observed{tail: newTail(subjects.RunID("0-x"))}
		k.put(o, time.Now())
		all = append(all, o)
	}
	require.False(t, k.over())
	for _, o := range all {
		o.tail.hear(events(1, 1, strings.Repeat("x", tailBytes)))
	}
	k.measure()
	require.True(t, k.over())
	for _, o := range all {
		k.take(o)
	}
	require.Zero(t, k.bytes)
}
