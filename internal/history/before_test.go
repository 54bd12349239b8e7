package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/subjects"
)

// chatOf reads turns as "generation kind text", the last of which is the next one.
func chatOf(t *testing.T, all string) (turns []history.Turn) {
	t.Helper()
	for i, one := range strings.Split(all, "; ") {
		turn := history.Turn{RunID: subjects.RunID(fmt.Sprint(i))}
		var text string
		_, err := fmt.Sscan(one, &turn.Generation, &turn.Kind, &text)
		require.NoError(t, err)
		turn.Input = fmt.Appendf(nil, `{"text":%q}`, text)
		turns = append(turns, turn)
	}
	return turns
}

func TestBeforeIsWhatStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chat, want string }{
		{"1 send a", ""},
		{"1 send a; 2 send b; 3 heartbeat c", "a b"},
		{"1 send a; 2 send b; 3 retry b", "a"},
		{"1 send a; 2 send b; 3 retry b; 4 retry b", "a"},
		{"1 send a; 2 send b; 3 retry b; 4 edit c; 5 send d", "a c"},
		{"1 send a; 2 edit b; 3 edit c; 4 edit d", ""},
		{"1 retry a; 2 send b", "a"},
		{"1 send a; 2 send b; 3 approval x; 4 retry b", "a"},
		{"1 send a; 2 approval x; 3 approval y; 4 edit b; 5 send c", "b"},
		{"1 send a; 3 edit b; 4 send c", "a b"},   // what was edited was never saved
		{"1 send a; 3 retry b", "a"},              // nor what was said again
		{"1 send a; 2 send b; 4 retry b", "a"},    // only a first retry was not
		{"7 send a; 8 send b; 1 retry b", "a"},    // the chat has been idle for long
		{"0 send a; 0 send b; 0 retry b", "a"},    // nobody numbers them
		{"1 send a; 2 mine b; 3 canvas c", "a b"}, // other kinds follow
		{"1 send a; 2 send a; 3 send a", "a a"},   // also with the same words
		{"1 approval x; 2 retry a", ""},           // what it went on with is gone
		{"1 edit a; 2 edit b; 3 heartbeat c", "b"},
	} {
		all := chatOf(t, c.chat)
		next := all[len(all)-1]
		for _, saved := range [][]history.Turn{all[:len(all)-1], all} { // next may be saved by now
			var got []string
			for _, turn := range history.Before(saved, &next) {
				var text string
				_, err := fmt.Sscanf(string(turn.Input), `{"text":%q}`, &text)
				require.NoError(t, err)
				got = append(got, text)
			}
			require.Equal(t, c.want, strings.Join(got, " "), c.chat)
		}
	}
}
