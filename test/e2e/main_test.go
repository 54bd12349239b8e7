package e2e_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/test/harness"
)

func TestMain(m *testing.M) {
	harness.Roles{harness.BrokerRole: harness.PlayBroker}.Play()
	goleak.VerifyTestMain(m)
}
