package relay

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/subjects"
)

// Limits are how much of a relay anybody may have. An owner is a user of a tenant: where
// nobody is authenticated there is none, and no limit of an owner holds.
type Limits struct {
	OwnerObservers int // streams and waiting requests of one owner; 0 means no limit but MaxObservers
	RunObservers   int // streams of one run; 0 means no limit but MaxObservers
	OwnerSends     int // messages of one owner a minute, a quarter of them at once; 0 means no limit
	Sends          int // messages a second, whoever sends them; 0 means no limit

	Connections int // open at once; 0 means as many as the process may have files, less SpareFiles, and at most 40,000
	SpareFiles  int // files that are no connections; 0 means 64
	HeaderBytes int // of a request's line and headers; 0 means 32 KiB, at least 4 KiB
}

// Why a request is refused that asks for more than it may have. What it says is in
// answerTo.
var (
	errOwnerFull  = errors.New("too many observers of one owner")
	errRunFull    = errors.New("too many observers of one run")
	errOwnerSends = errors.New("too many messages of one owner")
	errSends      = errors.New("too many messages")
)

// errOverdue is for an observer that reads so slowly that it stands in the way of others.
var errOverdue = fmt.Errorf("%w: too slow while others wait: %w", errWrite, os.ErrDeadlineExceeded)

const (
	defaultObservers   = 10_000
	defaultConnections = 4 * defaultObservers
	defaultSpareFiles  = 64
	leastHeaderBytes   = 4 << 10
)

// DefaultHeaderBytes is Limits.HeaderBytes unless set: tokens and cookies take some KiB.
const DefaultHeaderBytes = 32 << 10

// withDefaults settles the limits of a process that may have so many open files, 0 where
// that is not known, and how many observers it takes.
func (l Limits) withDefaults(observers, files int) (Limits, int, error) {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"MaxObservers", observers}, {"OwnerObservers", l.OwnerObservers}, {"RunObservers", l.RunObservers},
		{"OwnerSends", l.OwnerSends}, {"Sends", l.Sends}, {"Connections", l.Connections}, {"SpareFiles", l.SpareFiles},
		{"HeaderBytes", l.HeaderBytes},
	} {
		if n.value < 0 {
			return l, 0, fmt.Errorf("%w: %s is %d and may not be negative", ErrConfig, n.name, n.value)
		}
	}
	if l.SpareFiles == 0 {
		l.SpareFiles = defaultSpareFiles
	}
	if l.HeaderBytes == 0 {
		l.HeaderBytes = DefaultHeaderBytes
	}
	if l.HeaderBytes < leastHeaderBytes {
		return l, 0, fmt.Errorf("%w: HeaderBytes is %d, allowed are %d and more", ErrConfig, l.HeaderBytes, leastHeaderBytes)
	}
	if l.Connections == 0 {
		l.Connections = defaultConnections
		if files > 0 {
			l.Connections = max(1, min(l.Connections, files-l.SpareFiles-scarceConnections-turnedAway))
		}
	}
	if observers == 0 {
		// What is left is for those who send, stop, produce and ask how things are.
		observers = max(1, min(defaultObservers, l.Connections-l.Connections/10))
	}
	return l, observers, nil
}

// ownerOf is whose request it is, "" where that is nobody.
func ownerOf(ctx context.Context) subjects.Realm {
	if r := auth.From(ctx).Realm; r.User() != "" {
		return r
	}
	return ""
}

// quota counts what each of many holds. The zero name is nobody, who is not counted. Not
// safe for concurrent use.
type quota[K ~string] struct {
	limit int // 0 means none
	held  map[K]int
}

// take takes n for name, or says that there are not as many left.
func (q *quota[K]) take(name K, n int) bool {
	if q.limit == 0 || name == "" {
		return true
	}
	if q.held[name]+n > q.limit {
		return false
	}
	if q.held == nil {
		q.held = map[K]int{}
	}
	q.held[name] += n
	return true
}

// give takes back n that name has taken.
func (q *quota[K]) give(name K, n int) {
	if q.limit == 0 || name == "" {
		return
	}
	if q.held[name] -= n; q.held[name] <= 0 {
		delete(q.held, name)
	}
}

// waited is the error of something that had no turn within the time it was given; ctx is
// the request's own.
func waited(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}
