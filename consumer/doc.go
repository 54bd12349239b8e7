// Package consumer reads runs: next to the broker, where a relay does, and at the
// other end of HTTP, where applications do. What passes between the two is a Frame.
//
// Frames and their SSE form, pure:
//
//	frame.go        Frame and its JSON; ndjson.go the events of a snapshot
//	frame_parse.go  the way back; frame_scan.go walks raw JSON for it
//	sse_encode.go   frames, comments and retry as SSE
//	sse_decode.go   an SSE stream into messages, whatever the sizes of the reads
//	errors.go       the sentinels of frames and client
//
// Reading from the broker:
//
//	hub.go             Hub: what the readers of one process share, and its bounds
//	budget.go          how many bytes of logs and snapshots are held at once, and whose turn it is
//	observed.go        a tail with its subscription, its check of silence, its count of readers
//	tail.go            the newest events of one observed run; tail_blocks.go keeps them
//	waking.go          telling readers that have everything that there is more
//	linger.go          tails that nobody reads any more, and for how long
//	assemble.go        records into blocks of whole events
//	replay.go          a run's log from a seq on, page by page
//	snapshot.go        snapshots of a run, asked for
//	build.go           and made: of segments and a fold of what follows them
//	segments.go        the segments of runs that are asked for
//	share.go           one snapshot for all who need it at the same time
//	reader.go          Reader: one observer's frames out of all of these
//	reading_errors.go  their sentinels
//
// Reading over HTTP:
//
//	client.go           Client: what can be configured; client_request.go sends, with tokens and problems
//	client_watch.go     Watch: what to ask for
//	client_stream.go    Stream: Next, Cursor, Close
//	client_conn.go      one attempt, one connection
//	client_position.go  the cursor, and what each frame does to it; pure
//	client_recover.go   what each failure means: the end, or another attempt
//	client_snapshot.go  a snapshot without SSE
//	client_view.go      View: all that an observer holds of a run
//	client_active.go    Active: which runs are live
//	backoff.go          how long to stay away
//
// # Ordering
//
// A Reader and a Stream give the events of a run in order of seq, each once and
// none left out: the next frame is the event after the last one, a snapshot that
// replaces everything, or the end, and after the end there is nothing. A cursor
// moves when a frame is handed out, never before.
//
// # Who blocks whom
//
// Both pull. Nothing is queued for one observer, neither has a goroutine of its
// own, and a slow one falls behind without holding up a producer, a relay or
// another observer; in a Client that is the connection's flow control. Readers of one
// run who need a snapshot wait for the one that is being made. Who needs a page of a log
// or a snapshot waits, in order of arrival, while those at hand take HubConfig.MaxBytes;
// who holds some of that does not wait for more, and is Overdue when it holds it for too
// long. Calls of Stream.Next take turns. Close waits for the Next at work, which it ends at once.
package consumer
