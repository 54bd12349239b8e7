package acp

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Config configures an Agent.
type Config struct {
	Command []string // required: the program, looked up in PATH, and its arguments
	Dir     string   // working directory of processes and sessions; "" means Root, or ours
	Env     []string // NAME=value pairs; nil means our own environment

	// Root is the folder whose files agents may read and write, and in which they may run
	// commands in terminals. "" turns all of that off. The commands themselves can
	// reach whatever the worker can.
	Root string

	// AuthMethod is the id of the method to log in with, where the agent offers any.
	// "" means that the agent is logged in already.
	AuthMethod string

	IdleLimit     time.Duration // how long a process waits for its chat's next turn; 0 means 5 min
	CancelTimeout time.Duration // how long a stopped turn may take to end; 0 means 5 s
	StartTimeout  time.Duration // how long a process may take to be ready; 0 means 2 min
	WriteTimeout  time.Duration // how long an agent may not read its input while we have more than a pipe holds; 0 means 2 s
	MaxProcesses  int           // 0 means 32
	MaxLine       int           // longest message, in bytes; 0 means 16 MiB

	Version string       // of this program, told to agents; "" means "0"
	Logger  *slog.Logger // nil means none
}

func (c Config) withDefaults() (Config, error) {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return c, errors.New("an ACP agent needs a command to run")
	}
	if c.IdleLimit < 0 || c.CancelTimeout < 0 || c.StartTimeout < 0 || c.WriteTimeout < 0 || c.MaxProcesses < 0 || c.MaxLine < 0 {
		return c, errors.New("limits of an ACP agent cannot be negative; 0 means the default")
	}
	or(&c.IdleLimit, 5*time.Minute)
	or(&c.CancelTimeout, 5*time.Second)
	or(&c.StartTimeout, 2*time.Minute)
	or(&c.WriteTimeout, 2*time.Second)
	or(&c.MaxProcesses, 32)
	or(&c.MaxLine, 16<<20)
	or(&c.Version, "0")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, dir := range []*string{&c.Root, &c.Dir} {
		if err := folder(dir); err != nil {
			return c, fmt.Errorf("folder of the agent: %w", err)
		}
	}
	if c.Dir == "" {
		c.Dir = c.Root
	}
	if c.Dir == "" {
		var err error
		if c.Dir, err = os.Getwd(); err != nil {
			return c, fmt.Errorf("find the working directory: %w", err)
		}
	}
	return c, nil
}

// folder makes a path absolute, if there is one, as sessions want it.
func folder(path *string) error {
	if *path == "" {
		return nil
	}
	abs, err := filepath.Abs(*path)
	if err != nil {
		return fmt.Errorf("%q is no path: %w", *path, err)
	}
	at, err := os.Stat(abs)
	if err != nil || !at.IsDir() {
		return fmt.Errorf("%q is not a folder", *path)
	}
	*path = abs
	return nil
}

func or[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}
