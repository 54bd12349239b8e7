package agui

// Type is an event's type. The constants are the types of AG-UI 1.0 and the
// THINKING_ ones of its 0.0 line; any other type is just as welcome and passes
// through as "" (see [Event.Type]).
type Type string

const (
	RunStarted                 Type = "RUN_STARTED"
	RunFinished                Type = "RUN_FINISHED"
	RunError                   Type = "RUN_ERROR"
	StepStarted                Type = "STEP_STARTED"
	StepFinished               Type = "STEP_FINISHED"
	TextMessageStart           Type = "TEXT_MESSAGE_START"
	TextMessageContent         Type = "TEXT_MESSAGE_CONTENT"
	TextMessageEnd             Type = "TEXT_MESSAGE_END"
	TextMessageChunk           Type = "TEXT_MESSAGE_CHUNK"
	ToolCallStart              Type = "TOOL_CALL_START"
	ToolCallArgs               Type = "TOOL_CALL_ARGS"
	ToolCallEnd                Type = "TOOL_CALL_END"
	ToolCallChunk              Type = "TOOL_CALL_CHUNK"
	ToolCallResult             Type = "TOOL_CALL_RESULT"
	ReasoningStart             Type = "REASONING_START"
	ReasoningEnd               Type = "REASONING_END"
	ReasoningMessageStart      Type = "REASONING_MESSAGE_START"
	ReasoningMessageContent    Type = "REASONING_MESSAGE_CONTENT"
	ReasoningMessageEnd        Type = "REASONING_MESSAGE_END"
	ReasoningMessageChunk      Type = "REASONING_MESSAGE_CHUNK"
	ReasoningEncryptedValue    Type = "REASONING_ENCRYPTED_VALUE"
	ThinkingStart              Type = "THINKING_START"
	ThinkingEnd                Type = "THINKING_END"
	ThinkingTextMessageStart   Type = "THINKING_TEXT_MESSAGE_START"
	ThinkingTextMessageContent Type = "THINKING_TEXT_MESSAGE_CONTENT"
	ThinkingTextMessageEnd     Type = "THINKING_TEXT_MESSAGE_END"
	StateSnapshot              Type = "STATE_SNAPSHOT"
	StateDelta                 Type = "STATE_DELTA"
	MessagesSnapshot           Type = "MESSAGES_SNAPSHOT"
	ActivitySnapshot           Type = "ACTIVITY_SNAPSHOT"
	ActivityDelta              Type = "ACTIVITY_DELTA"
	Raw                        Type = "RAW"
	Custom                     Type = "CUSTOM"
	SubagentStarted            Type = "SUBAGENT_STARTED"
	SubagentFinished           Type = "SUBAGENT_FINISHED"
	SubagentError              Type = "SUBAGENT_ERROR"
)

// IsTerminal reports whether an event of this type ends the agent's own run.
// It does not end the fabric's: the save and the end record are still to come.
func IsTerminal(t Type) bool { return t == RunFinished || t == RunError }

// joins reports whether adjacent events of this type may be merged.
func joins(t Type) bool {
	switch t {
	case TextMessageContent, ReasoningMessageContent, ThinkingTextMessageContent, ToolCallArgs:
		return true
	}
	return false
}

// known returns the constant for a type's name, "" when there is none. It
// exists so that naming an event's type allocates nothing.
func known(name []byte) Type {
	switch Type(name) {
	case RunStarted:
		return RunStarted
	case RunFinished:
		return RunFinished
	case RunError:
		return RunError
	case StepStarted:
		return StepStarted
	case StepFinished:
		return StepFinished
	case TextMessageStart:
		return TextMessageStart
	case TextMessageContent:
		return TextMessageContent
	case TextMessageEnd:
		return TextMessageEnd
	case TextMessageChunk:
		return TextMessageChunk
	case ToolCallStart:
		return ToolCallStart
	case ToolCallArgs:
		return ToolCallArgs
	case ToolCallEnd:
		return ToolCallEnd
	case ToolCallChunk:
		return ToolCallChunk
	case ToolCallResult:
		return ToolCallResult
	case ReasoningStart:
		return ReasoningStart
	case ReasoningEnd:
		return ReasoningEnd
	case ReasoningMessageStart:
		return ReasoningMessageStart
	case ReasoningMessageContent:
		return ReasoningMessageContent
	case ReasoningMessageEnd:
		return ReasoningMessageEnd
	case ReasoningMessageChunk:
		return ReasoningMessageChunk
	case ReasoningEncryptedValue:
		return ReasoningEncryptedValue
	case ThinkingStart:
		return ThinkingStart
	case ThinkingEnd:
		return ThinkingEnd
	case ThinkingTextMessageStart:
		return ThinkingTextMessageStart
	case ThinkingTextMessageContent:
		return ThinkingTextMessageContent
	case ThinkingTextMessageEnd:
		return ThinkingTextMessageEnd
	case StateSnapshot:
		return StateSnapshot
	case StateDelta:
		return StateDelta
	case MessagesSnapshot:
		return MessagesSnapshot
	case ActivitySnapshot:
		return ActivitySnapshot
	case ActivityDelta:
		return ActivityDelta
	case Raw:
		return Raw
	case Custom:
		return Custom
	case SubagentStarted:
		return SubagentStarted
	case SubagentFinished:
		return SubagentFinished
	case SubagentError:
		return SubagentError
	}
	return ""
}
