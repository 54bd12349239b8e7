package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/rejoin/rejoin/internal/config"
)

// command is one word after rejoin.
type command struct {
	name  string
	about config.About
	// flags declares the command's flags and returns what runs it once they are
	// parsed.
	flags func(*config.Set) action
}

// action runs a command. Its error, if any, is shown and decides the exit code.
type action func(ctx context.Context, std stdio) error

// stdio is what a command has of the outside world.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)
	stop     *stopping // nil where nobody sends signals
}

// Exit codes beside 0; tail has more.
const (
	exitFailed = 1
	exitUsage  = 2
)

// exitError is an error with an exit code of its own. An empty text is not shown.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// run parses the arguments after the command's name and runs it. It returns the
// exit code.
func (c *command) run(ctx context.Context, args []string, std stdio) int {
	set := config.NewSet("rejoin " + c.name)
	do := c.flags(set)
	err := set.Parse(args, std.env)
	if errors.Is(err, config.ErrHelp) {
		set.WriteHelp(std.out, c.about)
		return 0
	}
	if err == nil {
		err = do(ctx, std)
	}
	return c.exit(err, std.err)
}

func (c *command) exit(err error, w io.Writer) int {
	var usage *config.UsageError
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(w, "%s\n\"rejoin %s --help\" explains them.\n", usage.Text, c.name)
		return exitUsage
	case errors.As(err, &exit):
		if exit.text != "" {
			fmt.Fprintf(w, "rejoin %s: %s\n", c.name, exit.text)
		}
		return exit.code
	}
	fmt.Fprintf(w, "rejoin %s: %s\n", c.name, printable(err.Error()))
	return exitFailed
}

// list explains which commands there are.
func list(w io.Writer) {
	fmt.Fprint(w, "rejoin keeps agent runs readable: publish once, watch from anywhere, come back to the event you left at.\n\n"+
		"Usage: rejoin COMMAND [flags]\n\nCommands:\n")
	for i := range commands {
		fmt.Fprintf(w, "  %-9s %s\n", commands[i].name, commands[i].about.Summary)
	}
	fmt.Fprint(w, "\n\"rejoin COMMAND --help\" explains a command. To begin: rejoin dev\n")
}

func names() string {
	all := make([]string, len(commands))
	for i := range commands {
		all[i] = commands[i].name
	}
	return strings.Join(all, ", ")
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && terminal(int(f.Fd()))
}

// logger writes to standard error, as the flags say.
func (s stdio) logger(l logFlags) (*slog.Logger, error) { return l.logger(s.err) }
