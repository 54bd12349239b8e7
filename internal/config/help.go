package config

import (
	"fmt"
	"io"
	"strings"
)

// About is what a help page says besides the flags.
type About struct {
	Summary  string   // what the command does, in one line
	Text     string   // more of it: whole lines
	Examples []string // command lines
}

// WriteHelp explains the command.
func (s *Set) WriteHelp(w io.Writer, a About) {
	fmt.Fprintf(w, "%s: %s\n\nUsage: %s [flags]", s.fs.Name(), a.Summary, s.fs.Name())
	if s.rest != nil {
		fmt.Fprintf(w, " [-- %s]\n\n%s: %s", s.rest.kind, s.rest.kind, s.rest.usage)
	}
	fmt.Fprintln(w)
	if a.Text != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(a.Text))
	}
	if len(s.flags) > 0 {
		fmt.Fprintf(w, "\nFlags, each with its default and the environment variable that sets it too; a flag wins:\n")
	}
	for _, e := range s.flags {
		e.help(w)
	}
	if len(a.Examples) > 0 {
		fmt.Fprintf(w, "\nExamples:\n")
	}
	for _, line := range a.Examples {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

func (e *entry) help(w io.Writer) {
	kind := e.Kind()
	if kind != "" {
		kind = " " + kind
	}
	initial := e.initial
	if initial == "" {
		initial = "none"
	}
	fmt.Fprintf(w, "\n  --%s%s  (default %s, %s)\n", e.name, kind, initial, Env(e.name))
	for line := range strings.SplitSeq(e.usage, "\n") {
		fmt.Fprintf(w, "      %s\n", strings.TrimSpace(line))
	}
	fmt.Fprintf(w, "      Allowed: %s.\n", e.Allowed())
}
