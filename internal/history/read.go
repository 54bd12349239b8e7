package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// readBytes is how much one Read gathers before it stops: the newest turn whatever its
// size, further ones while they fit.
const readBytes = 8 << 20

// maxLooks bounds the messages that one Read looks at, also where many turns were left
// unfinished.
const maxLooks = subjects.MaxHistoryPerChat

// newest walks from the last message backwards and gives the whole turns, newest first.
func (h *History) newest(ctx context.Context, subject string, limit int) ([]kept, error) {
	m, err := h.last(ctx, subject)
	if err != nil {
		return nil, err
	}
	var turns []kept
	var g gathered
	var saved time.Time // when the last part of the turn at hand was
	size := 0
	for range maxLooks {
		if m.seq == 0 {
			break
		}
		size += len(m.data)
		if len(turns) > 0 && size > readBytes {
			break
		}
		if m.whole() {
			saved = m.time
		}
		if t, ok := g.add(&m); ok {
			if turns = append(turns, kept{t, t.began(saved)}); len(turns) == limit {
				break
			}
		}
		if m.prev == 0 {
			break
		}
		m, err = h.get(ctx, subject, map[string]any{"seq": m.prev})
		if errors.Is(err, errNone) {
			break // the oldest ones have left
		}
		if err != nil {
			return nil, err
		}
	}
	return turns, nil
}

// gathered collects the parts of one turn, the last one first.
type gathered struct {
	run    subjects.RunID
	writer string
	want   int // the part that must come next, 0 while there is no turn
	parts  [][]byte
}

// add takes up one message and gives the turn once it is whole. A message that does not
// belong to what was gathered so far ends that: its writer did not finish.
func (g *gathered) add(m *stored) (Turn, bool) {
	switch {
	case m.bad:
		*g = gathered{}
		return Turn{}, false
	case m.whole():
		*g = gathered{run: m.run, writer: m.writer}
	case g.want == 0 || m.run != g.run || m.writer != g.writer || m.part != g.want:
		*g = gathered{}
		return Turn{}, false
	}
	g.parts = append(g.parts, m.data)
	if g.want = m.part - 1; g.want > 0 {
		return Turn{}, false
	}
	body := g.parts[0]
	if len(g.parts) > 1 {
		slices.Reverse(g.parts)
		body = slices.Concat(g.parts...)
	}
	run := g.run
	*g = gathered{}
	t, err := decode(body)
	return t, err == nil && t.RunID == run
}

// kept is a turn with when it began.
type kept struct {
	Turn
	at time.Time
}

// began is when a turn began that was saved at a time, by the clock that says when it was saved: the
// broker's. Whoever answered knows only how long that took; clocks of two processes are not
// compared. It is zero where it is not known.
func (t *Turn) began(saved time.Time) time.Time {
	if saved.IsZero() || t.StartedAt.IsZero() || t.EndedAt.IsZero() {
		return time.Time{}
	}
	return saved.Add(-max(0, t.EndedAt.Sub(t.StartedAt)))
}

// order puts turns, given newest first, in the order in which they were started. They
// were saved in that order but for a run that was still saving when its successor had
// ended: both its place in the chat and its time say so then.
func order(turns []kept, realm subjects.Realm, chat string) []Turn {
	slices.Reverse(turns)
	for i := 1; i < len(turns); i++ {
		for j := i; j > 0 && late(&turns[j-1], &turns[j]); j-- {
			turns[j-1], turns[j] = turns[j], turns[j-1]
		}
	}
	var all []Turn
	for i := range turns {
		turns[i].Realm, turns[i].ChatID = realm, chat
		all = append(all, turns[i].Turn)
	}
	return all
}

// late says whether b was started before a, behind which it stands. Generations alone
// do not tell: they begin anew in a chat that was idle for long. Nor do times, which are
// as exact as a save is quick.
func late(a, b *kept) bool {
	return b.Generation > 0 && b.Generation < a.Generation && !a.at.IsZero() && !b.at.IsZero() && b.at.Before(a.at)
}
