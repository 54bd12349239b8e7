package worker

import (
	"errors"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
)

// closeTimeout bounds one step of closing something at the broker.
const closeTimeout = 5 * time.Second

// Codes of the RUN_ERROR events that a worker publishes.
const (
	codeAgent   = "agent_error"
	codeDrained = "worker_stopped"
)

// seal publishes the turn's last events, after which there are none: questions are
// closed, what is open is ended, and one terminal event stands at the end. It returns
// the reason for the run's end.
func (j *job) seal(how ending, err error) subjects.Reason {
	for _, open := range j.openQuestions() {
		// Whoever waits for it does not look at the turn's context, or was late.
		defer open.tell(agent.ErrOver)
		c, err := j.close(open, reasonFor(how))
		if err != nil {
			j.log.Warn("a question is not closed yet; the run's end does", "request", open.RequestID, "error", err)
			continue
		}
		status, outcome, reason := c.Decided(agui.StatusExpired)
		_ = j.resolve(open, status, outcome, reason)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sealed = true
	terminal := j.open.Terminal()
	if terminal == "" {
		j.terminate(how, err)
	}
	switch {
	case how == stopped:
		return subjects.ReasonStopped
	case terminal == agui.RunFinished:
		return subjects.ReasonDone
	case terminal == agui.RunError, how == drained, err != nil:
		return subjects.ReasonError
	}
	return subjects.ReasonDone
}

// terminate ends what is open and publishes the terminal event. The caller holds mu. It
// fails only with the run.
func (j *job) terminate(how ending, err error) {
	var last [][]byte
	switch {
	case how == drained:
		last = [][]byte{agui.NewRunError("the worker was shut down before the answer was complete", codeDrained)}
	case how == returned && err != nil:
		j.log.Warn("the agent failed", "error", err)
		last = [][]byte{agui.NewRunError(message(err), code(err))}
	case j.open.Overflowed():
		last = [][]byte{agui.NewRunError("the agent left more open than can be closed", codeAgent)}
	default:
		if !j.open.Started() && j.start() != nil {
			return
		}
		last = j.open.CloseAll()
		outcome := agui.OutcomeSuccess
		if how == stopped {
			outcome = agui.OutcomeCancelled
		}
		last = append(last, j.open.RunFinished(outcome))
	}
	if err := j.sendOwn(last...); err != nil && !errors.Is(err, agent.ErrOver) {
		j.log.Error("the turn's last events were refused", "error", err)
	}
}

// reasonFor tells why a question is closed at the end of its turn.
func reasonFor(how ending) string {
	switch how {
	case stopped:
		return "stopped"
	case drained:
		return "worker_stopped"
	}
	return "ended"
}

// maxMessage bounds what people are shown of an error.
const maxMessage = 500

// message is an error as people are shown it.
func message(err error) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, err.Error())
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// code is what an error calls itself, for programs.
func code(err error) string {
	var coded interface{ Code() string }
	if errors.As(err, &coded) && coded.Code() != "" {
		return coded.Code()
	}
	return codeAgent
}
