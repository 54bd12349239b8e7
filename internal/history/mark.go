package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/subjects"
)

// The headers of a stored message:
//
//	Rejoin-Turn: <run> <part>/<parts> <writer>
//	Rejoin-Turns-Before: <run> <run> …
//
// The writer is a token of one call of Append. The second one has the newest turns
// that were whole before this one, newest first.
const (
	turnHeader   = "Rejoin-Turn"
	beforeHeader = "Rejoin-Turns-Before"
)

// maxBefore bounds how many turns a message names. A save is repeated within minutes
// at most, and 16 ids take half of the room for headers.
const maxBefore = 16

// mark is what the headers of a message say. The zero mark is that of a chat without
// messages.
type mark struct {
	run    subjects.RunID
	part   int // from 1
	parts  int
	writer string
	before []subjects.RunID
}

// whole says whether the message completes its turn.
func (m *mark) whole() bool { return m.parts > 0 && m.part == m.parts }

// holds says whether the run's turn is among the newest that are whole.
func (m *mark) holds(run subjects.RunID) bool {
	return m.whole() && m.run == run || slices.Contains(m.before, run)
}

// next is what a message behind this one has to name.
func (m *mark) next() []subjects.RunID {
	if !m.whole() {
		return m.before
	}
	all := append([]subjects.RunID{m.run}, m.before...)
	return all[:min(len(all), maxBefore)]
}

func (m *mark) header() nats.Header {
	h := nats.Header{turnHeader: {fmt.Sprintf("%s %d/%d %s", m.run, m.part, m.parts, m.writer)}}
	if len(m.before) > 0 {
		ids := make([]string, len(m.before))
		for i, id := range m.before {
			ids[i] = string(id)
		}
		h[beforeHeader] = []string{strings.Join(ids, " ")}
	}
	return h
}

// parseMark reads the headers back. The error is errDamaged; what could be read of the
// turns before is kept even then.
func parseMark(h nats.Header) (mark, error) {
	var m mark
	for id := range strings.FieldsSeq(h.Get(beforeHeader)) {
		if run, err := subjects.ParseRunID(id); err == nil && len(m.before) < maxBefore {
			m.before = append(m.before, run)
		}
	}
	run, rest, _ := strings.Cut(h.Get(turnHeader), " ")
	place, writer, _ := strings.Cut(rest, " ")
	part, parts, _ := strings.Cut(place, "/")
	id, errRun := subjects.ParseRunID(run)
	i, errPart := strconv.Atoi(part)
	n, errParts := strconv.Atoi(parts)
	if errRun != nil || errPart != nil || errParts != nil || i < 1 || n < i || n > maxParts || writer == "" {
		return m, fmt.Errorf("%w: %s is %.80q", errDamaged, turnHeader, h.Get(turnHeader))
	}
	m.run, m.part, m.parts, m.writer = id, i, n, writer
	return m, nil
}
