package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/agent"
)

func TestStatusOfAnOutcome(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]agent.Status{
		`{"outcome":"selected","optionId":"x"}`: agent.Selected,
		`{"outcome":"cancelled"}`:               agent.Cancelled,
		`{"action":"accept","content":{}}`:      agent.Accepted,
		`{"action":"decline"}`:                  agent.Declined,
		`{"action":"cancel"}`:                   agent.Cancelled,
		`{"action":7,"outcome":{}}`:             agent.Answered,
		`{}`:                                    agent.Answered,
	} {
		require.Equal(t, want, agent.StatusOf(json.RawMessage(outcome)), outcome)
	}
}
