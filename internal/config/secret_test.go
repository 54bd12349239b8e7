package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/config"
)

// What may be secret is in no error, whichever way it was mistyped.
func TestASecretIsNeverRepeated(t *testing.T) {
	t.Parallel()
	const typed = "SECRET1"
	for name, c := range map[string]struct {
		args []string
		env  string
		says string
	}{
		"refused":          {args: []string{"--header", "Authorization Bearer " + typed}, says: "--header cannot be used as it is"},
		"in a variable":    {env: "Authorization Bearer " + typed, says: "REJOIN_HEADER cannot be used as it is"},
		"without quotes":   {args: []string{"--header", "Authorization:", typed}, says: "it may belong to --header"},
		"one of more":      {args: []string{"--header=A:", "--header", typed}, says: `allowed is "Name: value"`},
		"a name that ends": {args: []string{"--headers=" + typed}, says: `no flag "--headers"`},
	} {
		s := config.NewSet("rejoin dev")
		var all []string
		s.Add(config.Secret(config.List(&all, "HEADER", `"Name: value"`, func(h string) bool { return h == "A:" || h == "Authorization:" })), "header", "Headers.")
		err := s.Parse(c.args, env("REJOIN_HEADER", c.env))
		require.ErrorContains(t, err, c.says, name)
		require.NotContains(t, err.Error(), typed, name)
	}
}
