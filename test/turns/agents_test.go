package turns_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/test/harness"
)

// begin begins the message that numbers are said in.
const begin = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`

// count says the numbers from one to another. The message has to be open.
func count(t agent.Turn, from, to uint64) error {
	for i := from; i <= to; i++ {
		if err := t.Publish(context.Background(), harness.Delta(i)); err != nil {
			return err
		}
	}
	return nil
}

// counting is an agent that says the numbers up to n.
func counting(n uint64) agent.Agent {
	return agent.Func(func(ctx context.Context, t agent.Turn) error {
		if err := publish(t, begin); err != nil {
			return err
		}
		return count(t, 1, n)
	})
}

func publish(t agent.Turn, events ...string) error {
	for _, e := range events {
		if err := t.Publish(context.Background(), []byte(e)); err != nil {
			return err
		}
	}
	return nil
}

// said makes a whole message.
func said(id, words string) string {
	raw, _ := json.Marshal(words)
	return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":%q,"role":"assistant","delta":%s}`, id, raw)
}

// permission is a question with two answers.
func permission() agent.Question {
	return agent.Question{Name: "test.permission", Value: map[string]any{"title": "May I?"}, Options: []string{"yes", "no"}}
}

// asked is how a question came out.
type asked struct {
	agent.Answer
	err error
}

func ask(ctx context.Context, t agent.Turn) asked {
	a, err := t.Ask(ctx, permission())
	return asked{a, err}
}
