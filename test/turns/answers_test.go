package turns_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
	"github.com/rejoin/rejoin/subjects"
	"github.com/rejoin/rejoin/test/harness"
)

// APP-03: two tabs at two relays, the same answer or opposite ones: the agent gets one
// outcome, and whoever lost is told which.
func TestAPP03_TwoTabsAnswer(t *testing.T) {
	t.Parallel()
	const rounds = 30
	r := newRig(t, harness.Config{})
	got := make(chan asked)
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		for range rounds {
			a := ask(ctx, t)
			if a.err != nil {
				return a.err
			}
			got <- a
		}
		return nil
	}), worker.Config{})
	id := r.send("c", "hi")
	live := r.open(0, "c")
	for i := range rounds {
		request := fmt.Sprintf("%s:%d", id, i+1)
		live.until(func(s *harness.Seen) bool { return s.RequestID() == request })
		outcomes := [2]string{yes, [2]string{yes, no}[i%2]}
		replies := together(2, func(_, relay int) reply {
			time.Sleep(rand.N(time.Duration(1+i%20) * time.Millisecond)) // together, or one behind the other
			return r.answer(relay, "c", id, request, outcomes[relay])
		})
		a := <-got
		require.Equal(t, request, a.RequestID)
		for tab, reply := range replies {
			if outcomes[tab] == string(a.Outcome) {
				require.Equal(t, http.StatusOK, reply.Status, reply.Body)
				continue
			}
			require.Equal(t, http.StatusConflict, reply.Status, reply.Body)
			require.Equal(t, "already_answered", reply.Code)
			require.JSONEq(t, string(a.Outcome), string(reply.Outcome))
		}
		require.Equal(t, http.StatusOK, r.answer(1, "c", id, request, string(a.Outcome)).Status, "a retry after a lost 200")
	}
	live.toEnd()
	require.Empty(t, live.State.Pending())
	for i := range rounds {
		closing(r, live.Seen, fmt.Sprintf("%s:%d", id, i+1))
	}
	require.Equal(t, live.State, r.snapshot(1, id))
}

// APP-03: an answer that crosses the agent's own time limit: either both have it, or
// neither.
func TestAPP03_AnAnswerCrossesATimeout(t *testing.T) {
	t.Parallel()
	const rounds = 40
	r := newRig(t, harness.Config{})
	got := make(chan asked)
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		for range rounds {
			limited, cancel := context.WithTimeout(ctx, 3*time.Millisecond+rand.N(15*time.Millisecond))
			got <- ask(limited, t)
			cancel()
		}
		return nil
	}), worker.Config{})
	id := r.send("c", "hi")
	live := r.open(0, "c")
	answered := 0
	for i := range rounds {
		request := fmt.Sprintf("%s:%d", id, i+1)
		live.until(func(s *harness.Seen) bool { return s.State.Status["prompt "+request] != "" })
		reply := r.answer(1, "c", id, request, yes)
		a := <-got
		live.until(func(s *harness.Seen) bool { return s.State.Status["prompt "+request] != "pending" })
		if a.err == nil {
			answered++
			require.Equal(t, http.StatusOK, reply.Status, reply.Body)
			require.Equal(t, "selected", live.State.Status["prompt "+request])
			continue
		}
		require.ErrorIs(t, a.err, context.DeadlineExceeded)
		require.Equal(t, http.StatusNotFound, reply.Status, reply.Body)
		require.Equal(t, "cancelled", live.State.Status["prompt "+request])
		require.Contains(t, closing(r, live.Seen, request), `"reason":"withdrawn"`)
	}
	t.Logf("answered in time: %d of %d", answered, rounds)
	require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonDone}, live.toEnd().End)
}

// APP-03: an answer that crosses a stop: the question is closed once, and what the
// client was told is what everybody sees.
func TestAPP03_AnAnswerCrossesAStop(t *testing.T) {
	t.Parallel()
	const rounds = 30
	r := newRig(t, harness.Config{})
	got := make(chan asked, rounds)
	r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
		a := ask(ctx, t)
		got <- a
		if a.err != nil {
			return a.err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}), worker.Config{})
	for i := range rounds {
		chat := fmt.Sprint("c", i)
		id := r.send(chat, "hi")
		live := r.open(0, chat).until(harness.Asks)
		request := live.RequestID()
		replies := together(2, func(i, relay int) reply {
			time.Sleep(rand.N(3 * time.Millisecond)) // either may be first
			if i == 0 {
				return r.stop(relay, chat, id)
			}
			return r.answer(relay, chat, id, request, yes)
		})
		require.Equal(t, http.StatusAccepted, replies[0].Status, replies[0].Body)
		live.toEnd()
		require.Equal(t, &subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, live.End)
		require.Equal(t, 1, terminals(live.Seen))
		told, a := closing(r, live.Seen, request), <-got
		switch replies[1].Status {
		case http.StatusOK:
			require.Contains(t, told, `"status":"selected"`)
			if a.err == nil {
				require.JSONEq(t, yes, string(a.Outcome))
			}
		default:
			require.Equal(t, http.StatusNotFound, replies[1].Status, replies[1].Body)
			require.True(t, errors.Is(a.err, agent.ErrStopped) || errors.Is(a.err, agent.ErrOver), "%v", a.err)
			require.Contains(t, told, `"status":"cancelled"`)
			require.Contains(t, told, `"reason":"stopped"`)
		}
		late := r.answer(1, chat, id, request, no).Status
		require.Contains(t, []int{http.StatusConflict, http.StatusNotFound}, late)
		require.Equal(t, replies[1].Status == http.StatusOK, late == http.StatusConflict)
	}
}

// APP-04: a stop, a newer message, or the worker's own shutdown while one or three
// permissions are pending, of agents that look at their context and of ones that do not:
// each question is closed with a reason, and the agent learns why.
func TestAPP04_TheTurnIsOverWhileItAsks(t *testing.T) {
	t.Parallel()
	type way struct {
		end            subjects.End
		cause          error
		status, reason string
	}
	for name, want := range map[string]way{
		"stop":      {subjects.End{Persisted: true, Reason: subjects.ReasonStopped}, agent.ErrStopped, "cancelled", "stopped"},
		"supersede": {subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded}, agent.ErrSuperseded, "expired", "superseded"},
		"drain":     {subjects.End{Persisted: true, Reason: subjects.ReasonError}, agent.ErrDraining, "cancelled", "worker_stopped"},
	} {
		for _, n := range []int{1, 3} {
			for _, looks := range []bool{true, false} {
				t.Run(fmt.Sprint(name, n, looks), func(t *testing.T) {
					t.Parallel()
					r := newRig(t, harness.Config{})
					got, causes := make(chan asked, n), make(chan error, 1)
					w := r.Worker(agent.Func(func(ctx context.Context, t agent.Turn) error {
						if t.Request().Kind == "retry" {
							return nil
						}
						asking := ctx
						if !looks {
							asking = context.WithoutCancel(ctx)
						}
						for range n {
							go func() { got <- ask(asking, t) }()
						}
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return nil
					}), worker.Config{})
					id := r.send("c", "hi")
					live := r.open(0, "c").until(func(s *harness.Seen) bool { return len(s.State.Pending()) == 2*n })
					switch name {
					case "stop":
						require.Equal(t, http.StatusAccepted, r.stop(1, "c", id).Status)
					case "supersede":
						want.end.NextRunID = r.send("c", "no, this", "kind", "retry")
					case "drain":
						w.Stop()
					}
					require.ErrorIs(t, <-causes, want.cause)
					for range n {
						a := <-got
						require.True(t, errors.Is(a.err, want.cause) || errors.Is(a.err, agent.ErrOver), "%v", a.err)
					}
					live.toEnd()
					require.Equal(t, &want.end, live.End)
					require.Empty(t, live.State.Pending())
					for i := range n {
						told := closing(r, live.Seen, fmt.Sprintf("%s:%d", id, i+1))
						require.Contains(t, told, fmt.Sprintf("%q:%q", "status", want.status))
						require.Contains(t, told, fmt.Sprintf("%q:%q", "reason", want.reason))
						require.Equal(t, http.StatusNotFound, r.answer(1, "c", id, fmt.Sprintf("%s:%d", id, i+1), yes).Status)
					}
					if name != "supersede" { // the end itself tells that
						require.Equal(t, 1, terminals(live.Seen))
						require.Contains(t, []string{"RUN_FINISHED", "RUN_ERROR"}, live.Types[len(live.Types)-1])
					}
					require.Equal(t, live.State, r.snapshot(0, id))
				})
			}
		}
	}
}
