package browser_test

import "testing"

// TAB-01: with eight tabs on eight chats, idle and streaming, whatever one of them sends is answered within a second, all texts are
// exact, and tabs may leave.
func TestTAB01_EightTabs(t *testing.T) {
	alone(t)
	newRig(t, rigConfig{files: client(t)}).play("eight", nil)
}

// TAB-02: the tab that leads those that share a stream is frozen: the others go on without it.
func TestTAB02_TheLeaderIsFrozen(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: client(t)}).play("leader", nil)
}

// TAB-02: the tab that leads hangs, keeping its lock, and the next one crashes: those that are looked at are current within seconds.
func TestTAB02_TheLeaderHangsOrCrashes(t *testing.T) {
	t.Parallel()
	screen(t)
	newRig(t, rigConfig{files: client(t)}).play("hung", nil)
}
