package runs

import (
	"bytes"
	"context"
	"slices"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/subjects"
)

// closedInLog lists the questions that a run's log closes up to its record last: the
// entry may still name them, since its writer changes it after the log. A replica that does
// not show all of the log makes the list shorter.
func (s *Store) closedInLog(ctx context.Context, e *Entry, last Stored) (map[string]bool, error) {
	if !slices.ContainsFunc(e.Questions, func(q Question) bool { return !q.Interrupt }) {
		return nil, nil
	}
	closed := map[string]bool{}
	for from := e.FirstStreamSeq; from <= last.StreamSeq; {
		page, err := s.Page(ctx, e.RunID, from)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			from = r.StreamSeq + 1
			if r.Kind == subjects.KindEvents {
				closedBy(r.Body, closed)
			}
		}
	}
	return closed, nil
}

// closedBy takes in what events, one a line, do to questions.
func closedBy(lines []byte, closed map[string]bool) {
	for line := range bytes.SplitSeq(lines, []byte{'\n'}) {
		var e agui.Event
		if err := agui.Scan(line, &e); err != nil || e.Type != agui.Custom {
			continue
		}
		if id, _, ok := agui.Resolved(&e); ok {
			closed[id] = true
		} else if q, ok := agui.Asked(&e); ok {
			delete(closed, q.RequestID) // again
		}
	}
}
