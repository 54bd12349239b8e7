package history

import (
	"encoding/json"
	"slices"
)

// The kinds of turns that do not simply follow the one before them.
const (
	kindRetry    = "retry"    // says the same again
	kindEdit     = "edit"     // says something else instead
	kindApproval = "approval" // goes on with what the turn before has asked
)

// Before returns what stands of a chat's saved turns before next: those given, oldest
// first, without next itself and without what a retry or an edit took the place of.
// A turn that was never saved is nothing to take the place of.
func Before(saved []Turn, next *Turn) []Turn {
	var standing []Turn
	for i := range saved {
		if saved[i].RunID != next.RunID {
			standing = append(replace(standing, &saved[i]), saved[i])
		}
	}
	return replace(standing, next)
}

// replace leaves out what a turn takes the place of.
func replace(before []Turn, t *Turn) []Turn {
	if len(before) == 0 || !t.replaces(&before[len(before)-1]) {
		return before
	}
	for len(before) > 0 {
		last := before[len(before)-1]
		before = slices.Clip(before[:len(before)-1])
		if last.Kind != kindApproval {
			break
		}
	}
	return before
}

// replaces reports whether t takes the place of the last turn that was saved before it.
// Where generations tell of a run between the two, that one was not saved; a retry of
// it says then what it said.
func (t *Turn) replaces(last *Turn) bool {
	switch {
	case t.Kind != kindRetry && t.Kind != kindEdit:
		return false
	case last.Generation == 0, t.Generation <= last.Generation, t.Generation == last.Generation+1:
		return true // nothing is known of one between them
	}
	said, same := t.text(), last.text()
	return t.Kind == kindRetry && said != nil && same != nil && *said == *same
}

func (t *Turn) text() *string {
	var input struct{ Text *string }
	_ = json.Unmarshal(t.Input, &input) // what is no text is nil
	return input.Text
}
