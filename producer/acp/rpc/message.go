package rpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// message is any JSON-RPC message.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// valid reports whether m is a message at all. A response may lack both result and
// error: JSON drops the undefined of an agent that has nothing to say.
func (m *message) valid() bool {
	return m.Version == "2.0" && (m.Method != "" || len(m.ID) > 0)
}

// failed gives the error of a response, if it is one.
func (m *message) failed() *Error {
	if len(m.Error) == 0 || bytes.Equal(m.Error, []byte("null")) {
		return nil
	}
	return errorOf(m.Error)
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse hands each message of a line to take and reports whether the line was nothing
// but messages. What follows the first thing that is not JSON is not looked at: it is
// more often an echo in some log than a message. A blank line is junk as well.
func parse(line []byte, take func(*message)) (clean bool) {
	line = trim(bytes.TrimPrefix(line, byteOrderMark))
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	m := &message{}
	if json.Unmarshal(line, m) == nil { // as good as always
		if m.valid() {
			take(m)
		}
		return m.valid()
	}
	return parseMany(line, take)
}

// parseMany is parse for a line that is more, or less, than one JSON object.
func parseMany(line []byte, take func(*message)) (clean bool) {
	clean = true
	for len(line) > 0 {
		m := &message{}
		d := json.NewDecoder(bytes.NewReader(line))
		if line[0] != '{' || d.Decode(m) != nil {
			return false
		}
		if m.valid() {
			take(m)
		} else {
			clean = false
		}
		line = trim(line[d.InputOffset():])
	}
	return clean
}

// trim cuts white space and terminal control sequences, such as colours, off the
// beginning of a line.
func trim(line []byte) []byte {
	for {
		line = bytes.TrimSpace(line)
		n := controlLen(line)
		if n == 0 {
			return line
		}
		line = line[n:]
	}
}

// controlLen is the length of the control sequence that b begins with, or 0.
func controlLen(b []byte) int {
	if len(b) < 3 || b[0] != 0x1b || b[1] != '[' {
		return 0
	}
	for i, c := range b[2:] {
		if c >= 0x40 && c <= 0x7e {
			return i + 3
		}
	}
	return 0
}
