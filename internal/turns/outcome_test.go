package turns_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/internal/turns"
)

func TestCheckOutcome(t *testing.T) {
	t.Parallel()
	choice := runs.Question{Options: []string{"yes", "no"}}
	form := runs.Question{Value: json.RawMessage(`{"requestedSchema":{"type":"object","required":["name"]}}`)}
	any := runs.Question{Value: json.RawMessage(`{"title":"t"}`)}
	interrupt := runs.Question{Interrupt: true, Value: json.RawMessage(`{"requestedSchema":{"required":["x"]}}`)}
	for _, tc := range []struct {
		q       runs.Question
		outcome string
		says    string // "" for fine
	}{
		{choice, `{"outcome":"selected","optionId":"yes"}`, ""},
		{choice, `{"outcome":"cancelled"}`, ""},
		{choice, `{"outcome":"cancelled","optionId":"maybe"}`, ""},
		{choice, `{"outcome":"selected","optionId":"maybe"}`, `"yes", "no"`},
		{choice, `{"outcome":"selected"}`, "optionId"},
		{choice, `{"outcome":"selected","optionId":1}`, "optionId"},
		{choice, `{"outcome":1}`, "cancelled"},
		{choice, `{"action":"accept","content":{}}`, "selected"},
		{form, `{"action":"accept","content":{"name":"x"}}`, ""},
		{form, `{"action":"accept","content":{"name":null}}`, ""},
		{form, `{"action":"decline"}`, ""},
		{form, `{"action":"cancel"}`, ""},
		{form, `{"action":"accept","content":{"nome":"x"}}`, `lacks "name"`},
		{form, `{"action":"accept"}`, "no JSON object"},
		{form, `{"action":"accept","content":[1]}`, "no JSON object"},
		{form, `{"action":"accept","content":null}`, "no JSON object"},
		{form, `{"action":"perhaps"}`, "decline"},
		{form, `{}`, "accept"},
		{any, `{}`, ""},
		{any, `{"whatever":1}`, ""},
		{interrupt, `{"approved":true}`, ""},
		{runs.Question{}, `{"a":1}`, ""},
		{any, ``, "missing"},
		{any, `null`, "no JSON object"},
		{any, `[]`, "no JSON object"},
		{any, `"yes"`, "no JSON object"},
		{any, `{"a":1} {}`, "no JSON object"},
		{any, `{"a":`, "no JSON object"},
		{any, "{\"a\":\"\xff\"}", "no JSON object"},
		{any, `{"a":"` + strings.Repeat("x", 256<<10) + `"}`, "bytes"},
	} {
		err := turns.CheckOutcome(tc.q, json.RawMessage(tc.outcome))
		if tc.says == "" {
			require.NoError(t, err, tc.outcome)
			continue
		}
		require.ErrorIs(t, err, turns.ErrOptions, tc.outcome)
		require.ErrorContains(t, err, tc.says)
	}
}

// What is named in an error stays short, whatever the options are.
func TestCheckOutcomeNamesFewOptions(t *testing.T) {
	t.Parallel()
	var options []string
	for range 100 {
		options = append(options, strings.Repeat("\n", 200))
	}
	err := turns.CheckOutcome(runs.Question{Options: options}, json.RawMessage(`{}`))
	require.ErrorIs(t, err, turns.ErrOptions)
	require.Less(t, len(err.Error()), 1200)
	require.NotContains(t, err.Error(), "\n")
}
