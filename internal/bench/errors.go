package bench

import "errors"

var (
	// ErrNone is the error of a choice of workloads and cases that leaves none.
	ErrNone = errors.New("no case fits")
	// ErrWrong is the error of a run whose results show anything missing, doubled or out of
	// order.
	ErrWrong = errors.New("events were missing, doubled or out of order")
)
