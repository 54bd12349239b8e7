package producer_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

func request(id, more string) []byte {
	return fmt.Appendf(nil, `{"type":"CUSTOM","name":"q.request","value":{"requestId":%q,"status":"pending"%s}}`, id, more)
}

func resolved(id string) []byte {
	return fmt.Appendf(nil, `{"type":"CUSTOM","name":"q.resolved","value":{"requestId":%q,"status":"cancelled"}}`, id)
}

func (p *process) asked(t testing.TB, id subjects.RunID) (ids []string) {
	t.Helper()
	e, err := p.store.Entry(within(t), id)
	require.NoError(t, err)
	for _, q := range e.Questions {
		ids = append(ids, q.RequestID)
	}
	return ids
}

// Whoever sees a question finds it in the run's entry: it can be answered at once.
func TestAPP01_QuestionIsNotedBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p, reader := newProcess(t, s, producer.Config{}), newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	const n = 30
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; i <= n; i++ {
			for k := range i * 7 % 20 {
				if _, err := r.Publish(within(t), text(k)); err != nil {
					t.Error(err)
				}
			}
			if _, err := r.Publish(within(t), request(fmt.Sprint(i), "")); err != nil {
				t.Error(err)
			}
			_, _ = r.Flush(within(t))
		}
	}()
	from, seen := uint64(0), 0
	for seen < n {
		page, err := reader.store.Page(within(t), r.ID(), from)
		require.NoError(t, err)
		for _, rec := range page {
			from = rec.StreamSeq + 1
			for _, line := range bytes.Split(rec.Body, []byte{'\n'}) {
				if bytes.Contains(line, []byte("q.request")) {
					seen++
					require.Contains(t, reader.asked(t, r.ID()), fmt.Sprint(seen))
				}
			}
		}
	}
	<-done
	e, err := reader.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, runs.StateWaiting, e.Doing())
	for i := 1; i <= n; i += 2 {
		_, err := r.Publish(within(t), resolved(fmt.Sprint(i)))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return len(reader.asked(t, r.ID())) == n/2 }, patience, 5e6)
	// What is left is closed by the run's end.
	_, err = r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	events, _ := reader.events(t, r.ID())
	all := string(bytes.Join(events, []byte{'\n'}))
	require.Equal(t, n, strings.Count(all, "q.resolved"))
	require.Contains(t, all, `"requestId":"2","status":"expired"`)
}

// Questions that are asked, closed and asked again under one id, however they are packed.
func TestQuestionAskedAgain(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	for _, flush := range []bool{true, false} {
		r := p.start(t, "c")
		for _, event := range [][]byte{request("a", ""), request("b", ""), resolved("a"), resolved("b"), request("a", ""), resolved("x")} {
			_, err := r.Publish(within(t), event)
			require.NoError(t, err)
			if flush {
				_, err = r.Flush(within(t))
				require.NoError(t, err)
			}
		}
		require.Eventually(t, func() bool { return fmt.Sprint(p.asked(t, r.ID())) == "[a]" }, patience, 5e6)
		// Nothing takes it out later.
		_, err := r.Publish(within(t), request("c", ""))
		require.NoError(t, err)
		_, err = r.Publish(within(t), resolved("c"))
		require.NoError(t, err)
		_, err = r.Flush(within(t))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return fmt.Sprint(p.asked(t, r.ID())) == "[a]" }, patience, 5e6)
	}
}

// Too many questions, and too large ones, hold nothing up.
func TestQuestionsWithoutNumber(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{MaxPayload: 64 << 10}), producer.Config{})
	r := p.start(t, "c")
	options := `,"options":["` + strings.Repeat(strings.Repeat(`\u0001`, 100)+`","`, 100) + `x"]`
	for i := range 200 {
		more := ""
		switch i % 3 {
		case 1:
			more = options
		case 2:
			more = `,"title":"` + strings.Repeat("<", 15<<10) + `"`
		}
		_, err := r.Publish(within(t), request(fmt.Sprint(i), more))
		require.NoError(t, err)
	}
	_, err := r.Flush(within(t))
	require.NoError(t, err)
	require.Len(t, p.asked(t, r.ID()), 64)
	_, err = r.Finish(within(t), producer.FinishOptions{})
	require.NoError(t, err)
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.NotNil(t, e.End)
}

// Interrupts stay open when the run has ended for their sake.
func TestTERM04_InterruptsOutliveTheRun(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	_, err := r.Publish(within(t), []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"a","reason":"x"},{"id":"b","reason":"y"}]}}`))
	require.NoError(t, err)
	_, err = r.Finish(within(t), producer.FinishOptions{Persisted: true})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, p.asked(t, r.ID()))
	e, err := p.store.Entry(within(t), r.ID())
	require.NoError(t, err)
	require.Equal(t, runs.StateWaiting, e.Doing())
	events, _ := p.events(t, r.ID())
	require.Len(t, events, 1, "nothing behind the terminal event")
}

// A producer that closes its question by itself takes no answer to it any more, from
// before anybody can see that.
func TestAPP02_QuestionIsClosedBeforeThatIsSeen(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{})
	r := p.start(t, "c")
	for _, event := range [][]byte{request("1", ""), resolved("1")} {
		_, err := r.Publish(within(t), event)
		require.NoError(t, err)
	}
	_, err := r.Flush(within(t))
	require.NoError(t, err)
	c, won, err := p.store.PutControl(within(t), r.ID(), runs.Control{Kind: runs.ControlAnswer, ID: "1", Body: []byte(`{}`)})
	require.NoError(t, err)
	require.False(t, won)
	require.True(t, c.Closed)
}

// Whoever ends a run while it asks closes what it has asked, however close that is: each
// question that the log shows is closed in the log.
func TestAPP04_EndsThatMeetQuestions(t *testing.T) {
	t.Parallel()
	s := broker(t, natsd.Config{})
	p := newProcess(t, s, producer.Config{Logger: quiet()})
	for round := range 40 {
		r := p.start(t, fmt.Sprint("c", round))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 1; ; i++ {
				for _, event := range [][]byte{request(fmt.Sprint(i), ""), resolved(fmt.Sprint(i))} {
					if _, err := r.Publish(context.Background(), event); err != nil {
						return
					}
					if _, err := r.Flush(context.Background()); err != nil {
						return
					}
				}
			}
		}()
		for int(r.StoredSeq()) < round%5 {
			runtime.Gosched()
		}
		time.Sleep(time.Duration(round) * 30 * time.Microsecond) // at another step of the next question
		_, err := p.store.EndRun(within(t), r.ID(), subjects.End{Reason: subjects.ReasonAbandoned})
		require.NoError(t, err)
		<-stopped
		events, end := p.events(t, r.ID())
		require.NotNil(t, end)
		open := map[string]bool{}
		for _, event := range events {
			var e agui.Event
			require.NoError(t, agui.Scan(event, &e))
			if q, ok := agui.Asked(&e); ok {
				open[q.RequestID] = true
			}
			if id, _, ok := agui.Resolved(&e); ok {
				delete(open, id)
			}
		}
		require.Empty(t, open, "round %d", round)
	}
}
