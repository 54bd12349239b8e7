package worker

import (
	"encoding/json"
	"fmt"

	"github.com/rejoin/rejoin/internal/agui"
)

// withMessage adds what a further message says to an input, which keeps its form. n is
// the message's number, and makes an id with the run's.
func withMessage(input, message json.RawMessage, run string, n int) (json.RawMessage, error) {
	text := agui.UserText(message)
	var all map[string]json.RawMessage
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	if !agui.IsRunInput(input) {
		before, _ := agui.Text(input)
		if before != "" {
			text = before + "\n\n" + text
		}
		said, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		all["text"] = said
		return json.Marshal(all)
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(all["messages"], &messages); err != nil {
		return nil, fmt.Errorf("messages of the input: %w", err)
	}
	added, err := json.Marshal(map[string]string{
		"id": fmt.Sprintf("%s-%d", agui.UserMessageID(run), n), "role": "user", "content": text})
	if err != nil {
		return nil, err
	}
	if all["messages"], err = json.Marshal(append(messages, added)); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
