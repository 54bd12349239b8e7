//go:build unix

package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockStore keeps a second process from the store: a NATS server does not, and two
// of them would write over each other. The lock goes with the process, however it
// ends; the function returned lets it go.
func lockStore(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("%w: %w; name a directory that can be written to, it is created where it is missing", ErrStore, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "rejoin.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; name a directory that can be written to, it is created where it is missing", ErrStore, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%w: another process uses the store in %q", ErrStoreInUse, dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
