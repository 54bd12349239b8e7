package relay

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/problem"
)

// protocolOne is what nearly every request says of its protocol.
var protocolOne = json.RawMessage("1")

// plainQuery reads a query as clients send it: known parameters, each once and not empty,
// numbers in plain digits. Any other is not ok, and for queryBody to understand or to
// refuse; those that are mean the same to both. A crowd that comes back sends a thousand.
func plainQuery(query string) (in fields, ok bool) {
	seen := ""
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, v, _ := strings.Cut(pair, "=")
		v, err := url.QueryUnescape(v)
		if err != nil || v == "" || !utf8.ValidString(v) || strings.Contains(pair, ";") || strings.Contains(seen, name) {
			return in, false
		}
		seen += name
		if !in.plain(name, v) {
			return in, false
		}
	}
	return in, true
}

// plain takes one parameter; false says that this is not for here.
func (in *fields) plain(name, v string) bool {
	switch name {
	case "chat_id":
		in.ChatID = &v
	case "run_id":
		in.RunID = v
	case "protocol":
		in.Protocol = protocolOne
		return v == "1"
	case "synced":
		in.Synced = v == "true"
		return in.Synced
	case "after_seq":
		n, ok := plainNumber(v)
		in.AfterSeq = problem.Int{N: n, Set: true}
		return ok
	case "wait_ms":
		n, ok := plainNumber(v)
		in.WaitMS = milliseconds(time.Duration(min(n, int64(MaxWait/time.Millisecond))) * time.Millisecond)
		return ok
	case resumeParameter: // whoever authenticates has looked at it
	default:
		return false
	}
	return true
}

// plainNumber is a number that is surely one, and not large.
func plainNumber(v string) (int64, bool) {
	const most = 15
	if len(v) > most || v[0] == '0' && len(v) > 1 || strings.Trim(v, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}
