// Package problem is the one place where an error becomes an HTTP answer, and
// where a request's JSON body becomes values.
//
//   - problem.go  Error, the codes and what each means
//   - write.go    Write: an error as application/problem+json (RFC 9457)
//   - handler.go  Handler: handlers return errors, this maps and logs them
//   - body.go     DecodeBody: a strict, bounded JSON object
//   - fields.go   filling a struct from that object, field by field
//   - integer.go  Int: an integer in plain digits, absent or present
//   - text.go     escapes that are no character, and words fit to be shown
//
// What an answer tells: `type` (urn:rejoin:problem:<code>), `title`, `status`,
// `detail`, `code`, and what the code brings along, such as `run_id`. What is
// not an Error is answered as `internal` in words that give nothing away; its
// cause goes to the log. Every string shown is bounded and free of control
// characters, whoever wrote it.
//
// Ordering: an answer is written once; after a handler has begun its own
// answer, an error it returns is logged only. Blocking: DecodeBody blocks as
// long as the body takes to arrive, which the server's read deadline bounds;
// nothing here starts a goroutine or holds a lock.
package problem
