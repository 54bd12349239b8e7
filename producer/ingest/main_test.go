package ingest_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(brokerEnv) != "" {
		serveBroker()
		return
	}
	goleak.VerifyTestMain(m)
}
