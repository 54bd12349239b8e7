package relay

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// maxWait is what wait_ms is clamped to.
const maxWait = 30 * time.Second

// watch is what a request to watch a chat asks for.
type watch struct {
	chat   string
	legacy bool
	wait   time.Duration
	run    subjects.RunID // "" for none; any string is possible
	after  *uint64        // nil for none
	synced bool
}

// find is the question which run to watch.
func (q watch) find() consumer.FindRequest {
	return consumer.FindRequest{ChatID: q.chat, RunID: q.run, Wait: q.wait}
}

// options say where to begin in the run that was found. A legacy client has no
// cursor, since nothing ever told it a seq.
func (q watch) options() consumer.ReadOptions {
	opt := consumer.ReadOptions{Synced: q.synced && !q.legacy}
	if q.run != "" && q.after != nil && !q.legacy {
		opt.Cursor = &consumer.Cursor{RunID: q.run, AfterSeq: *q.after}
	}
	return opt
}

func (q watch) wire() wire {
	if q.legacy {
		return &legacy{}
	}
	return protocol1{}
}

// parseBody reads the body of POST /chat/live: protocol 1's own, or the
// RunAgentInput of a stock client, which has the whole conversation in it.
func parseBody(w http.ResponseWriter, r *http.Request) (watch, error) {
	in, size, err := readObject(w, r, maxLegacyBody)
	if err != nil {
		return watch{}, err
	}
	legacy := !in.has("protocol")
	if !legacy && size > maxBody {
		return watch{}, tooLarge(maxBody)
	}
	return parseWatch(in, legacy)
}

// parseQuery reads GET /chat/live. EventSource cannot read the legacy wire, which
// has no ids to come back with, so protocol 1 is what is meant unless another is
// named.
func parseQuery(r *http.Request) (watch, error) {
	in, err := queryObject(r.URL.RawQuery, "chat_id", "threadId", "run_id")
	if err != nil {
		return watch{}, err
	}
	q, err := parseWatch(in, false)
	if err != nil {
		return q, err
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return q, q.lastEvent(id)
	}
	return q, nil
}

func parseWatch(in object, legacy bool) (q watch, err error) {
	q.legacy = legacy
	if in.has("protocol") && string(in["protocol"]) != "1" {
		return q, errProtocol
	}
	name := "chat_id"
	if !in.has(name) && in.has("threadId") {
		name = "threadId"
	}
	if q.chat, err = in.text(name); err != nil {
		return q, err
	}
	if err := subjects.CheckChatID(q.chat); err != nil {
		return q, badRequest(name + " is " + err.Error() + "; allowed are 1 to 256 bytes of valid UTF-8")
	}
	wait, err := in.integer("wait_ms", uint64(maxWait/time.Millisecond), true)
	if err != nil {
		return q, err
	}
	if wait != nil {
		q.wait = time.Duration(*wait) * time.Millisecond
	}
	run, err := in.text("run_id")
	if err != nil {
		return q, err
	}
	q.run = subjects.RunID(run)
	if q.after, err = in.integer("after_seq", subjects.MaxSeq, false); err != nil {
		return q, err
	}
	q.synced, err = in.boolean("synced")
	return q, err
}

// lastEvent takes the cursor from the id of the last frame that arrived, which is
// newer than that of the query.
func (q *watch) lastEvent(id string) error {
	i := strings.LastIndexByte(id, ':')
	seq, err := strconv.ParseUint(id[i+1:], 10, 64)
	if i <= 0 || err != nil || seq > subjects.MaxSeq {
		return badRequest("Last-Event-ID must be <run_id>:<seq> as in the id of a frame, with a seq 0 … 2^53-1")
	}
	q.run, q.after = subjects.RunID(id[:i]), &seq
	return nil
}
