package translate_test

import "testing"

func TestTextIsOneMessageUntilSomethingElseComes(t *testing.T) {
	t.Parallel()
	tr := begin(t).updates(say("a"), say("b"))
	tr.gave(
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-1","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"a"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-1","delta":"b"}`,
	)
	tr.updates(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`, say("c"))
	tr.gave(
		`{"type":"TEXT_MESSAGE_END","messageId":"text-r-1"}`,
		`{"type":"REASONING_START","messageId":"thought-r-2"}`,
		`{"type":"REASONING_MESSAGE_START","messageId":"thought-r-2","role":"reasoning"}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"thought-r-2","delta":"hm"}`,
		`{"type":"REASONING_MESSAGE_END","messageId":"thought-r-2"}`,
		`{"type":"REASONING_END","messageId":"thought-r-2"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"text-r-3","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"text-r-3","delta":"c"}`,
	)
}
