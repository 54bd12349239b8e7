package demo

import (
	"fmt"
	"iter"
	"strings"
)

// The words of a turn. Every token is one delta.

const thoughts = `Someone asks how a stream can survive its reader. First I should look at what the log holds, then say it simply.
A log keeps every event under a number. A reader remembers the last number it applied. So the answer is short, and the rest of this turn is only there to be watched.`

const opening = `You can close this page now. What I say next is stored before you see it, so when you come back with the last number you saw, I go on with the one after it – without a seam and without a gap that nobody told you about.

`

// subjects and what is said about each, in turn.
var (
	who = []string{"A reader", "A relay", "A producer", "The broker", "A slow phone", "A second tab", "A proxy", "The janitor"}
	did = []string{
		"goes away for a minute and comes back with its cursor",
		"stops in the middle of a word",
		"restarts while three others are watching",
		"asks for what follows number %d",
		"has not been heard of since number %d",
		"repeats number %d because the answer was lost",
	}
	then = []string{
		"the next event is the one that was due.",
		"nothing is said twice, and nothing is left out.",
		"a snapshot takes the place of what can no longer be told one by one.",
		"the run gets its end, so that nobody waits for ever.",
		"everyone else notices nothing.",
	}
)

// answer yields the tokens of the text of turn n, each with the space before it.
func answer(n, sentences int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for token := range tokens(opening) {
			if !yield(token) {
				return
			}
		}
		for i := range sentences {
			for token := range tokens(sentence(n, i)) {
				if !yield(token) {
					return
				}
			}
		}
	}
}

// sentence is the i-th of turn n, with the space or the empty line behind it.
func sentence(n, i int) string {
	k := n + i
	what := did[k%len(did)]
	if strings.Contains(what, "%d") {
		what = fmt.Sprintf(what, 10*i+n)
	}
	end := " "
	if i%4 == 3 {
		end = "\n\n"
	}
	return fmt.Sprintf("%s %s, and %s%s", who[k%len(who)], what, then[k%len(then)], end)
}

// tokens yields text in pieces that end with the space behind a word.
func tokens(text string) iter.Seq[string] { return strings.SplitAfterSeq(text, " ") }

// pieces yields text in pieces of n bytes, which must be ASCII.
func pieces(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			k := min(n, len(text))
			if !yield(text[:k]) {
				return
			}
			text = text[k:]
		}
	}
}
