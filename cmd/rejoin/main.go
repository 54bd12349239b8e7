package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// version is set by the linker.
var version string

// commands are the words that may follow rejoin.
var commands = []command{devCommand, relayCommand, workerCommand, janitorCommand, initCommand, publishCommand, tailCommand, probeCommand, benchCommand, switchCommand, tokenCommand, versionCommand}

func main() {
	ctx, stop := onSignals()
	code := run(ctx, os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv, stop: stop})
	os.Exit(code)
}

// run finds the command and runs it; it returns the exit code.
func run(ctx context.Context, args []string, std stdio) int {
	if len(args) == 0 {
		list(std.out)
		return 0
	}
	switch args[0] {
	case "help", "--help", "-h", "-help":
		if len(args) == 1 {
			list(std.out)
			return 0
		}
		args = []string{args[1], "--help"}
	case "--version", "-version":
		args = []string{"version"}
	}
	if args[0] == benchChild {
		return runBenchChild(ctx, args[1:], std)
	}
	for i := range commands {
		if commands[i].name == args[0] {
			return commands[i].run(ctx, args[1:], std)
		}
	}
	fmt.Fprintf(std.err, "rejoin: there is no command %.40q; allowed are %s, help\n", args[0], names())
	return exitUsage
}

func terminal(fd int) bool { return term.IsTerminal(fd) }
