package acp_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleEnv names the scripted agent that a copy of the test binary is to be.
const roleEnv = "ACP_TEST_AGENT"

func TestMain(m *testing.M) {
	if name := os.Getenv(roleEnv); name != "" {
		play(name)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
