package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// EnvPrefix begins the name of every environment variable.
const EnvPrefix = "REJOIN_"

// Env is the name of the environment variable that stands for a flag.
func Env(name string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Set is the flags of one command. The zero value is not usable; see NewSet.
type Set struct {
	fs    *flag.FlagSet
	flags []*entry
	rest  *rest // nil where no arguments may follow the flags
}

// rest is what may follow the flags.
type rest struct {
	p           *[]string
	kind, usage string
}

// entry is one declared flag. It is what package flag sees, so that the error of a
// bad value can be told from its other errors.
type entry struct {
	Value
	name, usage string
	initial     string // the default, as text
	bad         error  // the last value that was refused
}

func (e *entry) Set(s string) error {
	e.bad = e.Value.Set(s)
	return e.bad
}

// String also serves package flag, which calls it on a zero entry.
func (e *entry) String() string {
	if e == nil || e.Value == nil {
		return ""
	}
	return e.Value.String()
}

// IsBoolFlag makes --name without a value mean true.
func (e *entry) IsBoolFlag() bool {
	b, ok := e.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// NewSet makes an empty set for the named command.
func NewSet(command string) *Set {
	s := &Set{fs: flag.NewFlagSet(command, flag.ContinueOnError)}
	s.fs.SetOutput(io.Discard)
	s.fs.Usage = func() {}
	return s
}

// Add declares a flag. What v holds now is the default. usage says in a few words
// what the flag is for. Flags are explained in the order in which they are added.
func (s *Set) Add(v Value, name, usage string) {
	e := &entry{Value: v, name: name, usage: usage, initial: v.String()}
	s.flags = append(s.flags, e)
	s.fs.Var(e, name, usage)
}

// Rest lets arguments follow the flags, behind "--". kind is how the help page calls
// them; usage says what they are for.
func (s *Set) Rest(p *[]string, kind, usage string) { s.rest = &rest{p, kind, usage} }

// Given says whether a flag was set, by itself or by its variable.
func (s *Set) Given(name string) bool {
	given := false
	s.fs.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// Parse reads the arguments, then the environment for flags that they do not set.
// lookup is os.LookupEnv or stands in for it. The error is ErrHelp or a *UsageError.
func (s *Set) Parse(args []string, lookup func(string) (string, bool)) error {
	if err := s.fs.Parse(args); err != nil {
		return s.explain(err)
	}
	if rest := s.fs.Args(); len(rest) > 0 && s.rest != nil {
		*s.rest.p = rest
	} else if len(rest) > 0 {
		return s.wrong("there is an argument %s that belongs to no flag; %s", s.Word(rest[0]), s.takes("allowed are flags only: "))
	}
	for _, e := range s.flags {
		value, ok := lookup(Env(e.name))
		if !ok || value == "" || s.Given(e.name) {
			continue
		}
		if err := s.fs.Set(e.name, value); err != nil {
			return s.wrong("%s %s; allowed is %s", Env(e.name), e.is(value), e.Allowed())
		}
	}
	return nil
}

// explain turns an error of package flag into one that says what is allowed.
func (s *Set) explain(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return ErrHelp
	}
	for _, e := range s.flags {
		var bad *badValue
		if errors.As(e.bad, &bad) {
			return s.wrong("--%s %s; allowed is %s", e.name, e.is(bad.value), e.Allowed())
		}
	}
	for _, e := range s.flags {
		if err.Error() == "flag needs an argument: -"+e.name {
			return s.wrong("--%s has no value; allowed is %s", e.name, e.Allowed())
		}
	}
	text := strings.TrimPrefix(err.Error(), "flag provided but not defined: -")
	return s.wrong("there is no flag %.60q; %s", "--"+strings.TrimLeft(text, "-"), s.takes("allowed are "))
}

// takes names the flags there are, after an introduction.
func (s *Set) takes(intro string) string {
	if len(s.flags) == 0 {
		return s.fs.Name() + " takes none"
	}
	names := make([]string, len(s.flags))
	for i, e := range s.flags {
		names[i] = "--" + e.name
	}
	return intro + strings.Join(names, " ")
}

func (s *Set) wrong(format string, args ...any) error {
	return &UsageError{Text: s.fs.Name() + ": " + fmt.Sprintf(format, args...)}
}

// Wrong makes the error of a command whose flags are each good but do not fit
// together.
func (s *Set) Wrong(format string, args ...any) error { return s.wrong(format, args...) }
