package bench_test

import (
	"testing"
	"time"
)

func TestPoll(t *testing.T) {
	t.Parallel()
	r := measured(t, "poll", "", 2*time.Second)[0]
	for _, who := range []string{"open observer", "polls the snapshot", "polls the session"} {
		value(t, r, who+", received")
	}
}
