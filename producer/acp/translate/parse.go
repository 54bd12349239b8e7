package translate

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/rejoin/rejoin/internal/agui"
)

// What stands around a value at the deepest place it gets in an event of ours.
const (
	probeHead = `{"type":"CUSTOM","value":[[[[`
	probeTail = `]]]]}`
)

var errNoObject = errors.New("it is not one JSON object, which it has to be")

// parse reads an object that an agent sent, and gives it back on one line. It refuses
// what could not be part of an event: what is no JSON, not UTF-8, or nested too deep.
// Both results are copies; raw may be used again.
func parse(what string, raw []byte) (*record, json.RawMessage, error) {
	probe := make([]byte, 0, len(probeHead)+len(raw)+len(probeTail))
	probe = append(append(append(probe, probeHead...), raw...), probeTail...)
	var e agui.Event
	if err := agui.Scan(probe, &e); err != nil {
		var syntax *agui.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, nil, malformed(what, "%v", err)
		}
		return nil, nil, malformed(what, "at byte %d: %s", max(0, syntax.Offset-len(probeHead)), syntax.Reason)
	}
	line := bytes.TrimSpace(e.Raw[len(probeHead) : len(e.Raw)-len(probeTail)])
	r, err := parseObject(line)
	if err != nil {
		return nil, nil, malformed(what, "%v", err)
	}
	return r, line, nil
}

// parseObject reads an object that fills its line.
func parseObject(line []byte) (*record, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	r := &record{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder takes nothing else for a key
		r.set(name, value)
	}
	if _, err := d.Token(); err != nil || d.InputOffset() != int64(len(line)) {
		return nil, errNoObject
	}
	return r, nil
}
