package limits_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/test/harness"
)

func TestMain(m *testing.M) {
	harness.Roles{harness.BrokerRole: harness.PlayBroker}.Play()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		harness.RemoveBinary()
		os.Exit(code)
	}))
}
