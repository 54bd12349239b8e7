package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rejoin/rejoin/producer/agent"
)

// mindful is an agent that says what it remembers of the chat, and what it is told. The
// words of a message change what it does: "ask" asks a question, "wait" waits to be
// stopped.
type mindful struct{}

func (mindful) Run(ctx context.Context, t agent.Turn) error {
	var in struct{ Text string }
	if err := json.Unmarshal(t.Request().Input, &in); err != nil {
		return err
	}
	memory := t.(agent.Memory)
	before, err := memory.Recall(ctx)
	if err != nil {
		return err
	}
	if err := memory.Remember(ctx, []byte(string(before)+"|"+in.Text)); err != nil {
		return err
	}
	said, err := json.Marshal(fmt.Sprintf("[%s] [%s]", before, in.Text))
	if err != nil {
		return err
	}
	if err := t.Publish(ctx, fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":%s}`, said)); err != nil {
		return err
	}
	if strings.Contains(in.Text, "ask") {
		if _, err := t.Ask(ctx, agent.Question{Name: "test.ask", Value: map[string]any{"secret": in.Text}, Options: []string{"yes", "no"}}); err != nil {
			return err
		}
	}
	if strings.Contains(in.Text, "wait") {
		<-ctx.Done()
	}
	return context.Cause(ctx)
}
