// Package agent says what an agent is to Rejoin: something that is asked one turn at
// a time and answers it with AG-UI events. A worker runs it; see package worker.
//
//	agent.go     Agent, Turn and Request: what an agent gets and may do
//	question.go  asking people: questions, answers and their statuses
//	errors.go    why a turn is over before its agent was
//
// An agent in a few lines:
//
//	hello := agent.Func(func(ctx context.Context, t agent.Turn) error {
//		return t.Publish(ctx, []byte(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"Hello"}`))
//	})
//
// The package is pure: it knows no broker, no clock and no goroutine.
package agent
