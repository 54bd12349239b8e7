package browser_test

import (
	"testing"

	"github.com/rejoin/rejoin/relay/demo"
)

// newDemo is a rig whose relays serve the demo's page, with an agent that the script speaks for.
func newDemo(t *testing.T) *rig {
	t.Helper()
	cfg := rigConfig{}
	cfg.relay.Relay.Demo = demo.Handler(demo.Config{})
	return newRig(t, cfg)
}

// What a person does in the demo: the text is exact at each step, and nothing is shown twice at any moment.
func TestDemo_ReloadOtherChatSecondTabStop(t *testing.T) {
	t.Parallel()
	screen(t)
	newDemo(t).play("demo-talk", nil)
}

// TAB-03: the second tab shows the runs that the first one begins, and those that none has begun.
func TestTAB03_SecondTab(t *testing.T) {
	t.Parallel()
	screen(t)
	newDemo(t).play("demo-tabs", nil)
}

// APP-01 to APP-04: what the agent asks is asked in every tab, answered once, and never asked again.
func TestAPP03_TwoTabsAnswer(t *testing.T) {
	t.Parallel()
	screen(t)
	newDemo(t).play("demo-asks", nil)
}

// An attempt that finds nothing leaves the person with the history.
func TestDemo_DeadAddressLandsOnHistory(t *testing.T) {
	t.Parallel()
	screen(t)
	newDemo(t).play("demo-dead", nil)
}

// The page with what it was not drawn for, wide and narrow, light and dark: words without an end, an answer of many pages, many chats,
// an answer that failed and is asked for again, no network.
func TestDemo_LooksWithTooMuch(t *testing.T) {
	t.Parallel()
	screen(t)
	newDemo(t).play("demo-looks", nil)
}
