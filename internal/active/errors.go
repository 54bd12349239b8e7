package active

import "errors"

// Errors of this package; all are matched with errors.Is.
var (
	// ErrUnavailable: the broker does not tell which runs are live.
	ErrUnavailable = errors.New("the broker does not tell which runs are live")
	// ErrBehind: the subscriber has fallen out of what is kept for it; a new subscription
	// begins with a snapshot.
	ErrBehind = errors.New("too far behind")
	// ErrClosed: the feed was closed.
	ErrClosed = errors.New("the feed is closed")
)
