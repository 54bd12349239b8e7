// Package acp makes an agent.Agent of any program that speaks the Agent Client Protocol
// (protocol version 1) on its standard input and output.
//
//	config.go     Config
//	agent.go      Agent: a turn from its start to its end
//	pool.go       which process a chat has, how many there may be, and when idle ones end
//	conn.go       conn: one process, its peer, and why it ended
//	handshake.go  initialize, authenticate, and the session: new, loaded or resumed
//	route.go      what the process sends, and which turn gets it
//	prompt.go     session/prompt and its end: answered, cancelled, or given up
//	turn.go       turn: the events of one turn, and when it is sealed
//	ask.go        permission requests and forms, put before people
//	content.go    the turn's input as content blocks
//	files.go      fs/*, inside the configured root
//	terminal.go   terminal/*, inside the configured root
//	output.go     the end of what a terminal has printed
//	errors.go     what can go wrong, and what people are told
//
// # Order
//
// What a process sends is handled strictly in order by one goroutine, and each update has
// been published before the next message is looked at. So a permission is asked after all
// that came before it, and a prompt's response is seen after all updates before it.
// Updates that follow the response within 250 ms (of the response or of each other, one
// second at most) still belong to its turn; then the turn is sealed, and what comes later
// is dropped and counted.
//
// # Who may block whom
//
// A turn that cannot publish holds up its own process, through the pipe, and no other.
// Processes are not shared between chats. A turn waits for the turn before it in its
// chat, whose process is killed if that takes too long. Questions are asked by a
// goroutine each; Run waits for all of them. Whatever an agent does, Run returns within
// Config.CancelTimeout and a second of its context's end, and Close soon after the end of
// the context it is given.
package acp
