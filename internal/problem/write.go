package problem

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// ContentType is the media type of every error answer.
const ContentType = "application/problem+json"

// typePrefix and a code make the `type` of an answer: a name, not an address,
// so it stays true wherever the product is served from.
const typePrefix = "urn:rejoin:problem:"

var unknown = &Error{Code: Internal, Detail: "a fault of the server; it has been logged"}

// For is the answer to err: the Error in its chain, else one that says only
// that the fault is the server's. It is nil for nil.
func For(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && e != nil {
		return e
	}
	return unknown.Because(err)
}

// Write answers with err. What is not an Error becomes a 500 that does not
// show it: log it before. Headers that belong to the answer that was planned
// instead are removed.
func Write(w http.ResponseWriter, err error) {
	e := For(err)
	if e == nil {
		e = unknown
	}
	c := e.complete()
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if c.RetryAfter > 0 {
		seconds := (c.RetryAfter + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.WriteHeader(c.Status)
	_, _ = w.Write(append(c.body(), '\n')) // a client that left needs no answer
}

// body is the JSON of a completed Error.
func (e *Error) body() []byte {
	members := make(map[string]any, len(e.Extra)+5)
	for name, v := range e.Extra {
		if s, ok := v.(string); ok {
			v = clean(s)
		}
		members[name] = v
	}
	standard := map[string]any{
		"type": typePrefix + e.Code, "title": clean(e.Title), "status": e.Status,
		"detail": clean(e.Detail), "code": e.Code,
	}
	for name, v := range standard {
		members[name] = v
	}
	b, err := json.Marshal(members)
	if err != nil { // an extra that has no JSON form; the rest is worth sending
		b, _ = json.Marshal(standard)
	}
	return b
}
