package app

import "errors"

// Errors of this package; all are matched with errors.Is.
var (
	// ErrConfig: the configuration cannot work; the text names the field and what
	// is allowed.
	ErrConfig = errors.New("configuration")
	// ErrAddrInUse: another process serves on the address.
	ErrAddrInUse = errors.New("address in use")
	// ErrStoreInUse: another process keeps its broker's files in the directory.
	ErrStoreInUse = errors.New("store in use")
	// ErrBroker: the broker could not be reached, or refused what is needed.
	ErrBroker = errors.New("broker")
	// ErrBrokerLost: the connection to the broker was closed for good.
	ErrBrokerLost = errors.New("the connection to the broker was closed for good")
)
