//go:build !unix

package app

// lockStore does nothing here.
func lockStore(string) (unlock func(), err error) { return func() {}, nil }
