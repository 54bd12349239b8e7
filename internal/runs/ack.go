package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackOf reads what the broker answers to a message that is to be stored: the sequence it was
// given, or why it is not.
func ackOf(m *nats.Msg) (uint64, error) {
	if seq, ok := plainAck(m.Data); ok {
		return seq, nil
	}
	const noResponders = "503"
	if len(m.Data) == 0 && m.Header.Get("Status") == noResponders {
		return 0, jetstream.ErrNoStreamResponse
	}
	var answer struct {
		Error  *jetstream.APIError `json:"error"`
		Stream string              `json:"stream"`
		Seq    uint64              `json:"seq"`
	}
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return 0, jetstream.ErrInvalidJSAck
	case answer.Error != nil:
		return 0, fmt.Errorf("nats: %w", answer.Error)
	case answer.Stream == "":
		return 0, jetstream.ErrInvalidJSAck
	}
	return answer.Seq, nil
}

// plainAck reads an acknowledgement as every broker writes it: {"stream":"RUNS_0", "seq":17},
// with more behind it at times. What looks different in any way is left to ackOf.
func plainAck(data []byte) (seq uint64, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"stream":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 1 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return 0, false
	}
	rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest[end+1:], ", "), []byte(`"seq":`))
	end = bytes.IndexAny(rest, ",}")
	if !ok || end < 1 {
		return 0, false
	}
	seq, err := strconv.ParseUint(string(rest[:end]), 10, 64)
	return seq, err == nil
}
