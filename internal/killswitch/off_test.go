package killswitch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/subjects"
)

func TestAPercentageIsStableAndGrows(t *testing.T) {
	t.Parallel()
	alice, err := subjects.NewRealm("t", "alice")
	require.NoError(t, err)
	bob, err := subjects.NewRealm("t", "bob")
	require.NoError(t, err)
	const chats = 4000
	differ := 0
	for _, percent := range []int{-1, 0, 1, 25, 50, 99, 100, 101} {
		off := 0
		for i := range chats {
			chat := fmt.Sprint("chat ", i)
			is := killswitch.Off(alice, chat, percent)
			if is {
				off++
				require.True(t, killswitch.Off(alice, chat, percent+1), "off at %d and not at more: %s", percent, chat)
			}
			require.Equal(t, is, killswitch.Off(alice, strings.Clone(chat), percent))
			if killswitch.Off(bob, chat, percent) != is {
				differ++
			}
		}
		require.InDelta(t, float64(chats)*float64(min(max(percent, 0), 100))/100, float64(off), chats*.04, percent)
	}
	require.Positive(t, differ, "two users' chats of the same name are not the same chat")
}

// What the percentage means must not change from one version to the next: relays of both
// serve the same fabric for a while.
func TestAPercentageIsTheSameInEveryVersion(t *testing.T) {
	t.Parallel()
	first := func(realm subjects.Realm, chat string) int { // the smallest percentage at which it is off
		for p := range 101 {
			if killswitch.Off(realm, chat, p) {
				return p
			}
		}
		return -1
	}
	require.Equal(t, []int{93, 22, 57, 70}, []int{first("", ""), first("", "c"), first("t", "c"), first("t=u", "é")})
}
