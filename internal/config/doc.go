// Package config reads the flags of a command and their environment variables, and
// explains them.
//
//	set.go     Set: one command's flags; parsing, the environment, precedence
//	values.go  the kinds of value: what each accepts and how it says so
//	shown.go   what was typed, without what may be a password
//	secret.go  values that no error repeats
//	help.go    the page that --help prints
//	errors.go  UsageError
//
// A flag wins over its environment variable, which wins over the default: the value
// that the destination held when the flag was declared. The variable of --max-event
// is REJOIN_MAX_EVENT. An empty variable counts as not set.
//
// Nothing here blocks or has state beyond a Set, which one goroutine uses.
package config
