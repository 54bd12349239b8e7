package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rejoin/rejoin/internal/bench/proc"
)

// The names of the processes, as results have them.
const (
	Relay     = "relay"
	Broker    = "broker"
	Generator = "generator"
	Floor     = "floor"
)

// files is how many files the largest cases need: 10,000 connections, those that take
// their place in a storm, and what the process has besides.
const files = 12_000

// start starts broker and relay.
func (e *Env) start(ctx context.Context) (err error) {
	if err := proc.Files(files); err != nil {
		return err
	}
	if e.dir, err = os.MkdirTemp("", "rejoin-bench-"); err != nil {
		return err
	}
	if err := e.startBroker(ctx, "127.0.0.1:0"); err != nil {
		return err
	}
	return e.startRelay(ctx)
}

// stop ends every process of the case, and removes what they stored.
func (e *Env) stop() {
	e.Procs.Close()
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
}

func (e *Env) startBroker(ctx context.Context, listen string) (err error) {
	args := []string{"bench-child", "broker", "--listen", listen, "--store", filepath.Join(e.dir, "nats")}
	if e.cfg.SyncInterval > 0 {
		args = append(args, "--sync-interval", e.cfg.SyncInterval.String())
	}
	if e.broker, err = e.child(ctx, Broker, args); err != nil {
		return err
	}
	e.NATS = e.broker.Addr()
	return nil
}

func (e *Env) startRelay(ctx context.Context) (err error) {
	// What a user could say who means to have this many observers, and runs that stay.
	args := []string{"relay", "--nats", e.NATS, "--addr", "127.0.0.1:0", "--max-observers", "15000",
		"--retain", "1h", "--max-ended", "1000000", "--log-level", "warn"}
	args = append(args, e.flags...)
	if e.cfg.Partitions > 0 {
		args = append(args, "--partitions", strconv.Itoa(e.cfg.Partitions))
	}
	if e.cfg.Profile != "" {
		args = append([]string{"bench-child"}, args...)
	}
	if e.relay, err = e.child(ctx, Relay, args); err != nil {
		return err
	}
	e.Relay = strings.TrimPrefix(e.relay.Addr(), "http://")
	return nil
}

// Floor starts the bare SSE server, once, and says where it is: host:port.
func (e *Env) Floor(ctx context.Context) (addr string, err error) {
	if e.floor == nil {
		if e.floor, err = e.child(ctx, Floor, []string{"bench-child", "sse"}); err != nil {
			return "", err
		}
	}
	return e.floor.Addr(), nil
}

// KillBroker ends the broker as a crash does.
func (e *Env) KillBroker() { e.broker.Kill() }

// RestartBroker starts a killed broker on the same address and the same store, and returns
// once it answers.
func (e *Env) RestartBroker(ctx context.Context) error {
	return e.startBroker(ctx, strings.TrimPrefix(e.NATS, "nats://"))
}

func (e *Env) child(ctx context.Context, name string, args []string) (*proc.Child, error) {
	spec := proc.Spec{Name: name, Path: e.cfg.Executable, Args: args, Says: "rejoin", Without: []string{"REJOIN_", "OTEL_"}}
	if e.cfg.MemLimit > 0 {
		spec.Env = append(spec.Env, fmt.Sprintf("GOMEMLIMIT=%d", e.cfg.MemLimit))
	}
	if e.cfg.Profile != "" {
		spec.Env = append(spec.Env, ProfileEnv+"="+e.socket(name))
	}
	return e.Procs.Start(ctx, spec)
}
