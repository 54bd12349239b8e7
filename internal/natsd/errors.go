package natsd

import "errors"

var (
	// ErrConfig is returned by Start for a Config that cannot work; the
	// wrapping error names the field and what is allowed.
	ErrConfig = errors.New("natsd: bad configuration")

	// ErrStart is returned by Start and Restart when the server did not come
	// up; the wrapping error carries the server's own reason.
	ErrStart = errors.New("natsd: server did not start")

	// ErrStopped is returned when the server is not running: by Connect after
	// Stop or Shutdown, by Restart after Shutdown.
	ErrStopped = errors.New("natsd: server is stopped")
)
