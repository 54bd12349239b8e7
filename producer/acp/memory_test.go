package acp_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

// kept is a chat's memory, as workers share it.
type kept struct {
	mu    sync.Mutex
	value []byte
}

// remembering is a turn of a worker that shares a memory with others.
type remembering struct {
	*turn
	*kept
}

func (k *kept) Recall(context.Context) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.value, nil
}

func (k *kept) Remember(_ context.Context, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.value = value
	return nil
}

// A chat whose turns go to several workers has one session, and no worker goes on with a
// process that has not heard the turns of the others. An agent that cannot take up
// sessions keeps at least what each process knows.
func TestOneSessionOnTwoWorkers(t *testing.T) {
	t.Parallel()
	for script, takesUp := range map[string]bool{"echo that loads": true, "echo that resumes": true, "echo": false} {
		one, other, memory := newAgent(t, script), newAgent(t, script), &kept{}
		say := func(a *acp.Agent, text string) (session, pid string) {
			r := newTurn(t, "c", text)
			require.NoError(t, a.Run(r.ctx, remembering{r, memory}))
			said := strings.Fields(r.text())
			require.Equal(t, text, said[0])
			return said[1], said[2]
		}
		session, first := say(one, "one")
		again, pid := say(one, "two")
		require.Equal(t, []string{session, first}, []string{again, pid}, "%s: the process that waits", script)
		elsewhere, _ := say(other, "three")
		back, last := say(one, "four")
		if takesUp {
			require.Equal(t, []string{session, session}, []string{elsewhere, back}, script)
			require.NotEqual(t, first, last, "%s: a process that has not heard the third turn", script)
			continue
		}
		require.NotEqual(t, session, elsewhere)
		require.Equal(t, []string{session, first}, []string{back, last}, script)
	}
}
