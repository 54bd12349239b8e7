package agui

// noResult is what stands for the result of a tool call that never got one.
const noResult = "There is no result: the turn ended before."

// settle gives each tool call that has no result one that says so. Agents hand messages
// on to models, and these refuse a call without a result: a chat in which one turn was
// stopped during a tool call would be stuck.
func settle(messages [][]byte) [][]byte {
	answered := map[string]bool{}
	for _, m := range messages {
		if id, ok := inside(member(m, "toolCallId")); ok {
			answered[decode(id)] = true
		}
	}
	out := make([][]byte, 0, len(messages))
	var missing [][]byte // of the newest message with calls, after the results it has
	for _, m := range messages {
		if member(m, "toolCallId") == nil {
			out, missing = append(out, missing...), nil
		}
		out = append(out, m)
		for call := range elements(member(m, "toolCalls")) {
			if id, ok := inside(member(call, "id")); ok && !answered[decode(id)] {
				answered[decode(id)] = true
				missing = append(missing, missingResult(id))
			}
		}
	}
	return append(out, missing...)
}

func missingResult(call []byte) []byte {
	var b object
	b.raw("id", quoted(append([]byte("no-result-"), call...)))
	b.text("role", "tool")
	b.text("content", noResult)
	b.raw("toolCallId", quoted(call))
	return b.bytes()
}
