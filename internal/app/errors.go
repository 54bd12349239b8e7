package app

import (
	"errors"

	"github.com/rejoin/rejoin/internal/runs"
)

// Errors of this package; all are matched with errors.Is.
var (
	// ErrConfig: the configuration cannot work; the text names the field and what
	// is allowed.
	ErrConfig = errors.New("configuration")
	// ErrAddrInUse: another process serves on the address.
	ErrAddrInUse = errors.New("address in use")
	// ErrBrokerAddr: the embedded broker cannot listen on its address.
	ErrBrokerAddr = errors.New("the broker's own address")
	// ErrOpsAddr: health and numbers cannot be served on their address.
	ErrOpsAddr = errors.New("the address for health and numbers")
	// ErrOpen: others can reach the address, and nobody is authenticated.
	ErrOpen = errors.New("open to everybody")
	// ErrAuth: tokens cannot be checked as configured. ErrResume: resume tokens cannot be made.
	ErrAuth   = errors.New("authentication")
	ErrResume = errors.New("resume tokens")
	// ErrStore: the directory of the embedded broker cannot be used.
	ErrStore = errors.New("store")
	// ErrContext: the context of the nats command cannot be read, or not followed.
	ErrContext = errors.New("context of the nats command")
	// ErrCreds, ErrNKey, ErrCA, ErrCert: the file of that kind cannot be used.
	ErrCreds = errors.New("credentials")
	ErrNKey  = errors.New("nkey")
	ErrCA    = errors.New("certificate authorities")
	ErrCert  = errors.New("client certificate")
	// ErrReplicas: the broker has not the servers for that many copies.
	ErrReplicas = errors.New("replicas")
	// ErrRefused: what exists in the broker cannot become what is needed without a loss.
	ErrRefused = runs.ErrRefused
	// ErrStoreInUse: another process keeps its broker's files in the directory.
	ErrStoreInUse = errors.New("store in use")
	// ErrBroker: the broker could not be reached, or refused what is needed.
	ErrBroker = errors.New("broker")
	// ErrBrokerLost: the connection to the broker was closed for good.
	ErrBrokerLost = errors.New("the connection to the broker was closed for good")
)
