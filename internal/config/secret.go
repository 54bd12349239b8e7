package config

import (
	"fmt"
	"slices"
)

// secret is a value that no error repeats.
type secret struct{ Value }

// Secret is v as it is, but that what is given for it is never repeated: not in an error of
// its own, and not in one about the words behind it, which may be the rest of it where
// quotes were forgotten.
func Secret(v Value) Value { return secret{v} }

// is says what a flag was given, to follow its name.
func (e *entry) is(value string) string {
	if _, ok := e.Value.(secret); ok {
		return "cannot be used as it is (it may be secret, and is not repeated here)"
	}
	return fmt.Sprintf("is %.60q", Shown(value))
}

// Word is an argument behind the flags as an error may repeat it: quoted and cut, and not
// at all where a secret was given.
func (s *Set) Word(arg string) string {
	i := slices.IndexFunc(s.flags, func(e *entry) bool {
		_, ok := e.Value.(secret)
		return ok && s.Given(e.name)
	})
	if i >= 0 {
		return fmt.Sprintf("(not repeated here: it may belong to --%s, whose value must be one argument, in quotes)", s.flags[i].name)
	}
	return fmt.Sprintf("%.60q", Shown(arg))
}
