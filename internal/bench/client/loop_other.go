//go:build !linux

package client

import (
	"context"
	"time"
)

// Loop serves many Socks with one thread, where there is epoll.
type Loop struct{}

// Sock is one connection of a Loop.
type Sock struct{}

// NewLoop gives ErrPlatform.
func NewLoop(string) (*Loop, error) { return nil, ErrPlatform }

// Run gives ErrPlatform.
func (*Loop) Run(context.Context) error { return ErrPlatform }

// Do gives ErrPlatform.
func (*Loop) Do(func()) error { return ErrPlatform }

// At does nothing.
func (*Loop) At(time.Time, func(time.Time) time.Time) {}

// Dial gives ErrPlatform.
func (*Loop) Dial([4]byte, Handler) (*Sock, error) { return nil, ErrPlatform }

// Host is empty.
func (*Loop) Host() string { return "" }

// Write gives ErrPlatform.
func (*Sock) Write([]byte) error { return ErrPlatform }

// Held is 0.
func (*Sock) Held() int { return 0 }

// Close does nothing.
func (*Sock) Close() {}
