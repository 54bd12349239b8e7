package browser_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rejoin/rejoin/test/harness"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		harness.RemoveBinary()
		os.Exit(code)
	}))
}
