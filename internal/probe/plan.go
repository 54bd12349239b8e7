package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// plan is a run whose every event is known from its seq: a start, one message in many
// deltas, its end, and a finish.
type plan struct {
	nonce string // unique to the run, plain ASCII
	n     uint64 // events
}

// event is the event with that seq, from 1 to n.
func (p *plan) event(seq uint64) []byte {
	switch seq {
	case 1:
		return fmt.Appendf(nil, `{"type":"RUN_STARTED","threadId":"%s","runId":"%s"}`, p.nonce, p.nonce)
	case 2:
		return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_START","messageId":"%s","role":"assistant"}`, p.nonce)
	case p.n - 1:
		return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_END","messageId":"%s"}`, p.nonce)
	case p.n:
		return fmt.Appendf(nil, `{"type":"RUN_FINISHED","threadId":"%s","runId":"%s"}`, p.nonce, p.nonce)
	}
	// A letter as it is, one escaped, and space between tokens: whoever decodes and
	// encodes events on their way is found out.
	return fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT", "messageId":"%s","delta":"%d é\u00e9 "}`, p.nonce, seq)
}

// delta is the text of the event with that seq, "" where it has none.
func (p *plan) delta(seq uint64) string {
	if seq <= 2 || seq+1 >= p.n {
		return ""
	}
	return fmt.Sprintf("%d éé ", seq)
}

// lines are the events from one seq to another as NDJSON.
func (p *plan) lines(from, to uint64) []byte {
	var out []byte
	for seq := from; seq <= to; seq++ {
		out = append(append(out, p.event(seq)...), '\n')
	}
	return out
}

// checkSnapshot says whether the events of a snapshot come to the first seq events of
// the run: each stands there as it was published, or joined with neighbours that differ
// in nothing but their delta.
func (p *plan) checkSnapshot(seq uint64, ndjson []byte) error {
	if seq > p.n {
		return fmt.Errorf("a snapshot with seq %d of a run of %d events", seq, p.n)
	}
	at := uint64(1)
	for line := range bytes.SplitSeq(ndjson, []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		if at > seq {
			return fmt.Errorf("a snapshot with seq %d holds more than that: %.100q", seq, line)
		}
		if bytes.Equal(line, p.event(at)) {
			at++
			continue
		}
		next, err := p.joined(at, line)
		if err != nil {
			return fmt.Errorf("a snapshot with seq %d is wrong at event %d: %w", seq, at, err)
		}
		at = next
	}
	if at != seq+1 {
		return fmt.Errorf("a snapshot with seq %d holds %d events", seq, at-1)
	}
	return nil
}

// joined reads an event that joins those from seq on, and returns the seq after them.
func (p *plan) joined(seq uint64, line []byte) (uint64, error) {
	var e struct {
		Type      string `json:"type"`
		MessageID string `json:"messageId"`
		Delta     string `json:"delta"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return 0, err
	}
	if e.Type != "TEXT_MESSAGE_CONTENT" || e.MessageID != p.nonce || p.delta(seq) == "" {
		return 0, fmt.Errorf("%.100q stands where %.100q belongs", line, p.event(seq))
	}
	left := e.Delta
	for left != "" {
		rest, ok := strings.CutPrefix(left, p.delta(seq))
		if !ok || p.delta(seq) == "" {
			return 0, fmt.Errorf("its text goes on with %.60q where %.60q belongs", left, p.delta(seq))
		}
		left = rest
		seq++
	}
	return seq, nil
}
