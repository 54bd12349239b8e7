package browser_test

import "testing"

// TAB-02: whatever a tab was when it was not looked at, it is current two seconds after somebody looks.
func TestTAB02_HiddenFrozenAndBack(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: client(t)}).play("hidden", nil)
}
