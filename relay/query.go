package relay

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/subjects"
)

// parseQuery reads GET /chat/live. EventSource could not come back on the legacy
// wire, which has no ids, so a query without a protocol means protocol 1.
func parseQuery(r *http.Request) (watch, error) {
	in, ok := plainQuery(r.URL.RawQuery)
	if !ok {
		body, err := queryBody(r.URL.RawQuery)
		if err != nil {
			return watch{}, err
		}
		in = fields{}
		if err := problem.Decode(body, &in); err != nil {
			return watch{}, err
		}
	}
	q, err := in.watch(false)
	if err != nil {
		return q, err
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return q, q.lastEvent(id)
	}
	return q, nil
}

// queryBody gives a query the form of a body, so that the same rules hold for
// both. An empty parameter is the same as none.
func queryBody(query string) ([]byte, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, problem.New(problem.BadRequest, "the query is malformed")
	}
	body := map[string]any{}
	for name := range values {
		v := values.Get(name)
		switch {
		case v == "":
		case !utf8.ValidString(v):
			return nil, problem.New(problem.BadRequest, "%q is not valid UTF-8 in the query", name)
		case isText(name) || strings.ContainsAny(v, " \t\r\n") || !json.Valid([]byte(v)):
			body[name] = v
		default:
			body[name] = json.RawMessage(v)
		}
	}
	return json.Marshal(body)
}

// isText says whether a parameter is a string even where it looks like a number.
func isText(name string) bool {
	return name == "chat_id" || name == "threadId" || name == "run_id"
}

// lastEvent takes the cursor from the id of the last frame that arrived, which is
// newer than the query's.
func (q *watch) lastEvent(id string) error {
	i := strings.LastIndexByte(id, ':')
	seq, err := strconv.ParseUint(id[i+1:], 10, 64)
	if i <= 0 || err != nil || seq > subjects.MaxSeq {
		return problem.New(problem.BadRequest, "Last-Event-ID must be <run_id>:<seq> as in the id of a frame, with a seq 0 … %d", uint64(subjects.MaxSeq))
	}
	q.run, q.after = subjects.RunID(id[:i]), &seq
	return nil
}
