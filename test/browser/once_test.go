package browser_test

import "testing"

// DUP-01, HANG-02, SEND-01, STOP-01, TERM-06, as they show in a browser.
func TestDUP01_NothingTwice(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: client(t)}).play("once", nil)
}
