package app

import "errors"

// Errors of this package; all are matched with errors.Is.
var (
	// ErrConfig: the configuration cannot work; the text names the field and what
	// is allowed.
	ErrConfig = errors.New("configuration")
	// ErrAddrInUse: another process serves on the address.
	ErrAddrInUse = errors.New("address in use")
	// ErrBrokerAddr: the embedded broker cannot listen on its address.
	ErrBrokerAddr = errors.New("the broker's own address")
	// ErrStore: the directory of the embedded broker cannot be used.
	ErrStore = errors.New("store")
	// ErrCreds: the file with the credentials cannot be read.
	ErrCreds = errors.New("credentials")
	// ErrReplicas: the broker has not the servers for that many copies.
	ErrReplicas = errors.New("replicas")
	// ErrStoreInUse: another process keeps its broker's files in the directory.
	ErrStoreInUse = errors.New("store in use")
	// ErrBroker: the broker could not be reached, or refused what is needed.
	ErrBroker = errors.New("broker")
	// ErrBrokerLost: the connection to the broker was closed for good.
	ErrBrokerLost = errors.New("the connection to the broker was closed for good")
)
