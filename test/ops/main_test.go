package ops_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/test/harness"
)

func TestMain(m *testing.M) {
	harness.Roles{harness.ProducerRole: harness.PlayProducer}.Play()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		harness.RemoveBinary()
		removeWrongClock()
		os.Exit(code)
	}))
}

// bounded is the test's context with the time that nothing should need.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

// since is how long ago something was, as it is logged.
func since(from time.Time) time.Duration { return time.Since(from).Round(time.Millisecond) }

// broker is a broker in a process of its own, with a fabric on it.
func broker(t *testing.T, args ...string) (*harness.Rejoin, *harness.Fabric) {
	t.Helper()
	dev := harness.NewDev(t, append([]string{"--demo=false", "--agent", "none"}, args...)...)
	dev.Start()
	dev.Ready()
	return dev, harness.New(t, harness.Config{URL: dev.NATS})
}

// relay starts a relay on the fabric's broker.
func relay(f *harness.Fabric, args ...string) *harness.Rejoin {
	f.Helper()
	r := f.RelayProcess(args...)
	r.Start()
	r.Ready()
	return r
}
