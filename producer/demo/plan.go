package demo

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plan is what a message asks for.
type plan struct {
	n         int // the number of the story told
	sentences int
	approval  bool
	form      bool
	fails     bool
	quick     bool
	stubborn  bool
	tool      time.Duration // 0 for no slow tool
}

// perSentence is how many events a sentence takes, about.
const perSentence = 18

// planOf finds the words of the package comment in a text, in any case.
func planOf(text string, cfg AgentConfig) plan {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	has := func(word string) bool { return slices.Contains(words, word) }
	p := plan{
		n:         1 + utf8.RuneCountInString(text)%89,
		sentences: cfg.Sentences,
		form:      has("form"),
		fails:     has("error"),
		quick:     has("quick"),
		stubborn:  has("stubborn"),
	}
	long := has("long")
	if long {
		p.sentences = max(2, 60*cfg.Rate/perSentence)
	}
	if has("tool") || p.stubborn {
		p.tool = cfg.Tool
	}
	// Whoever asks for something else has nobody at hand to decide.
	p.approval = has("approval") || !p.fails && !p.quick && !long && p.tool == 0
	return p
}
