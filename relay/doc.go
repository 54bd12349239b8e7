// Package relay serves runs over HTTP: the streams that observers watch, the
// answers for those that poll, health and numbers. It holds nothing that its death
// could lose, and never talks to a producer: both meet in the broker.
//
//	config.go        what a relay serves and within which bounds
//	server.go        the HTTP server around the routes
//	tcp_linux.go     telling the kernel how long a peer may be silent
//	routes.go        which path leads where; errors become answers in one place
//	identity.go      who may ask what
//	refusals.go      what clients and operators are told of refused credentials
//	grant.go         credentials, and what a resume token shows
//	session.go       /chat/{chat_id}/session: the address of a chat's run
//	expiry.go        nobody watches for longer than their credential is good
//	middleware.go    counting requests, surviving panics
//	cors.go          which pages of other origins may use the relay
//	deadlines.go     how long a body may take, and what lasts longer
//	openapi.go       /openapi.json
//	trace.go         a request as a part of a trace
//	failure.go       what a client is told when something is wrong
//	request.go       what a request to watch a chat asks for
//	query.go         the same as a query, for EventSource; query_plain.go the short way
//	live.go          /chat/live: finding the run, opening and closing the stream
//	shared.go        /chats/live: several chats on one stream; shared_request.go what is asked
//	shared_chat.go   one of them, from run to run
//	message.go       what a request brings to a chat, and within which bounds
//	headers.go       which of its headers an agent may see
//	send.go          /chat/send, /chat/steer-send, and /chat: a message and its stream
//	doors.go         clients of other ecosystems: what was asked before, and what takes a chat
//	agui.go          /agui/{chat_id} for stock AG-UI clients
//	uichat.go        /api/chat for those of the AI SDK
//	control.go       /chat/stop and /chat/answer
//	resume.go        the input of the turn after an interrupt
//	turn_failure.go  what a client is told when the queue refuses
//	closed.go        the one line that a stream leaves in the log
//	serve.go         the serve loop: frames from the hub's reader to the sink
//	late_reader.go   reading that begins, or begins again, when the stream asks
//	audience.go      those who watch the same run
//	row.go           some of them that are written to together; batch.go what they are
//	member.go        one of those, and how a stream sits down and is given back
//	sink.go          the way to one observer: buffer, flush, keep-alive
//	lent.go          leaving that to a row for a while
//	outlet.go        what is behind it: net/http, and deadlines
//	direct.go        the way around the buffers of net/http; direct_unix.go the writes
//	chunks.go        frames of any size through a buffer of bounded size
//	wire.go          protocol 1
//	legacy.go        plain AG-UI for stock clients
//	uiwire.go        the AI SDK's UI message stream; uimessages/ is what its chunks say
//	observers.go     who is watching: admission, age, leaving
//	spread.go        how long each stays away, should the relay die
//	limits.go        how much anybody may have of a relay
//	sends.go         how often messages are sent
//	connections.go   which connections are open, and which make room for others
//	gate.go          the listener before them; files_unix.go says how many files there may be
//	drain.go         going away without losing anybody's place
//	runs.go          /runs/{run_id} and its snapshot
//	controls.go      /runs/{run_id}/controls: what a producer over HTTP is sent
//	active.go        /runs/active: which of the caller's chats are live
//	history.go       /chat/{chat_id}/history
//	switch.go        what may not be watched at the moment, and closing it
//	switch_admin.go  /admin/switch
//	health.go        /livez and /readyz
//	metrics.go       the numbers
//
// # Ordering and blocking
//
// An observer gets the frames of one run in the order of their seqs, each whole,
// and the end last. Each stream is served by its request's own goroutine, which
// pulls frames and writes them: back-pressure is the socket, nothing is queued for
// anybody, and a slow observer delays nobody else. It is cut off when one write of
// at most 64 KiB takes longer than Config.WriteTimeout. While the goroutine waits,
// for the broker, a snapshot or the producer, a timer keeps the connection alive.
//
// Where a run has many observers, those that have everything so far sit in rows, a few
// for each run, and their own goroutines sleep: a row's goroutine encodes what comes next
// once and writes it to one after the other, which never waits. Whoever does not take it
// all at once is given back to its own goroutine with the rest, and so is everybody when
// the end comes, a large event, a gap or a fault. While a stream sits, its sink is the row's.
//
// A shared stream has a goroutine for each of its chats, which its request waits for. Each
// pulls its own frames, and they take turns at the sink, a whole frame at a time: what one
// of them waits for, other than the socket, holds up no other.
//
// A drain never cuts a frame, except at an observer that has stalled.
package relay
