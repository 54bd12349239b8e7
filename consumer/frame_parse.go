package consumer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/rejoin/rejoin/subjects"
)

// ParseFrame reads the JSON form of a frame. Fields it does not know are
// ignored, in any order; those it knows must be there, once, with the type that
// the protocol gives them. Events keep their raw bytes (line breaks between
// tokens become spaces, so that NDJSON stays NDJSON). The frame shares no memory
// with data.
//
// Errors: ErrUnknownFrame with RunID and Seq unset for another type of frame,
// ErrFrame for anything else, naming what is wrong.
func ParseFrame(data []byte) (Frame, error) {
	p, err := parse(data)
	if err != nil {
		return Frame{}, err
	}
	return p.frame()
}

// parse sorts out the members of a JSON object.
func parse(data []byte) (parsed, error) {
	if !json.Valid(data) {
		return parsed{}, fmt.Errorf("%w: not JSON", ErrFrame)
	}
	if first := bytes.TrimLeft(data, jsonSpace); first[0] != '{' {
		return parsed{}, fmt.Errorf("%w: not a JSON object", ErrFrame)
	}
	var p parsed
	for key, value := range members(data) {
		if slot := p.slot(key); slot != nil {
			if *slot != nil {
				return parsed{}, fmt.Errorf("%w: %s stands there twice", ErrFrame, key)
			}
			*slot = value
		}
	}
	return p, nil
}

// parsed holds the raw values of the members that a frame, or a snapshot without
// SSE, may have.
type parsed struct {
	typ, run, seq, event, events, end, persisted, superseded, reason, next []byte
}

// slot returns where the member with that raw key goes, nil for an unknown one.
func (p *parsed) slot(key []byte) *[]byte {
	switch string(key) {
	case `"type"`:
		return &p.typ
	case `"run_id"`:
		return &p.run
	case `"seq"`:
		return &p.seq
	case `"event"`:
		return &p.event
	case `"events"`:
		return &p.events
	case `"end"`:
		return &p.end
	case `"persisted"`:
		return &p.persisted
	case `"superseded"`:
		return &p.superseded
	case `"reason"`:
		return &p.reason
	case `"next_run_id"`:
		return &p.next
	}
	return nil
}

func (p *parsed) frame() (Frame, error) {
	typ, err := text("type", p.typ)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{}
	for t := Snapshot; t <= End; t++ {
		if t.String() == typ {
			f.Type = t
		}
	}
	if f.Type == 0 {
		return Frame{}, fmt.Errorf("%w: %.40q", ErrUnknownFrame, typ)
	}
	var errRun, errSeq, errBody error
	f.RunID, errRun = runID(p.run)
	f.Seq, errSeq = seq(p.seq)
	switch f.Type {
	case Snapshot:
		f.Events, errBody = ndjson(p.events)
	case Event:
		f.Event, errBody = object("event", p.event)
	case End:
		f.End, errBody = p.ending()
	}
	if err := cmp.Or(errRun, errSeq, errBody); err != nil {
		return Frame{}, err
	}
	return f, nil
}

func (p *parsed) ending() (subjects.End, error) {
	persisted, err1 := boolean("persisted", p.persisted)
	superseded, err2 := boolean("superseded", p.superseded)
	reason, err3 := text("reason", p.reason)
	next, err4 := "", error(nil)
	if p.next != nil && string(p.next) != "null" {
		next, err4 = text("next_run_id", p.next)
	}
	return subjects.End{
		Persisted:  persisted,
		Superseded: superseded,
		Reason:     subjects.Reason(reason),
		NextRunID:  subjects.RunID(next),
	}, cmp.Or(err1, err2, err3, err4)
}

func runID(raw []byte) (subjects.RunID, error) {
	run, err := text("run_id", raw)
	if err == nil && run == "" {
		err = fmt.Errorf("%w: run_id is empty", ErrFrame)
	}
	return subjects.RunID(run), err
}

func text(name string, raw []byte) (string, error) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", wrong(name, raw, "a string")
	}
	return s, nil
}

func boolean(name string, raw []byte) (bool, error) {
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, wrong(name, raw, "true or false")
}

func seq(raw []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil || n > subjects.MaxSeq {
		return 0, wrong("seq", raw, "an integer 0 … 2^53-1")
	}
	return n, nil
}

func object(name string, raw []byte) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, wrong(name, raw, "an object")
	}
	return appendOneLine(make([]byte, 0, len(raw)), raw), nil
}

// ndjson turns a JSON array of events into the stored form.
func ndjson(raw []byte) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, wrong("events", raw, "an array")
	}
	out := make([]byte, 0, len(raw))
	for e := range elements(raw) {
		if e[0] != '{' {
			return nil, wrong("an event", e, "an object")
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = appendOneLine(out, e)
	}
	return out, nil
}

func wrong(name string, raw []byte, want string) error {
	if raw == nil {
		return fmt.Errorf("%w: no %s", ErrFrame, name)
	}
	return fmt.Errorf("%w: %s is %.40q, want %s", ErrFrame, name, raw, want)
}
