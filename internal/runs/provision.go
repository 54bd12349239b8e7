package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// Asset is a stream, a bucket or a consumer of the fabric, and what provisioning did
// with it or would do.
type Asset struct {
	Name    string
	Missing bool // it was not there
	// Changes are the settings that were not as they have to be: "max_age 1h0m0s to 24h0m0s".
	Changes []string
}

// Due says that there was, or is, something to do.
func (a *Asset) Due() bool { return a.Missing || len(a.Changes) > 0 }

// plan is what the fabric needs, held against what there is.
type plan struct {
	partitions int // how many there are to be
	existing   int // how many there are, holes included
	streams    []streamPlan
	workers    Asset
}

type streamPlan struct {
	Asset
	config jetstream.StreamConfig // as it has to be
}

// assets lists what the plan is about, in the order in which it is made.
func (p *plan) assets() []Asset {
	var all []Asset
	for _, s := range p.streams {
		all = append(all, s.Asset)
	}
	return append(all, p.workers)
}

// missing names what is not there.
func (p *plan) missing() []string {
	var names []string
	for _, a := range p.assets() {
		if a.Missing {
			names = append(names, a.Name)
		}
	}
	return names
}

// changed names what has other settings.
func (p *plan) changed() []string {
	var names []string
	for _, a := range p.assets() {
		if len(a.Changes) > 0 {
			names = append(names, a.Name)
		}
	}
	return names
}

// due says that something has to be made or changed.
func (p *plan) due() bool {
	return slices.ContainsFunc(p.assets(), func(a Asset) bool { return a.Due() })
}

// look holds what there is against what cfg wants. It changes nothing, and the error is
// ErrRefused where the two cannot be brought together without losing something.
func (s *Store) look(ctx context.Context, cfg Config) (*plan, error) {
	names, err := s.runsStreams(ctx)
	if err != nil {
		return nil, err
	}
	p := &plan{}
	for p.existing = subjects.MaxPartitions; p.existing > 0; p.existing-- {
		if slices.Contains(names, subjects.RunsStream(p.existing-1)) {
			break
		}
	}
	p.partitions = max(cfg.Partitions, p.existing)
	if p.partitions == 0 {
		p.partitions = subjects.Partitions
	}
	wanted := []jetstream.StreamConfig{subjects.BucketConfig(cfg.Replicas), subjects.LeaseConfig(cfg.Replicas),
		subjects.TurnsConfig(cfg.Replicas), subjects.ControlConfig(cfg.Replicas), subjects.HistoryConfig(cfg.Replicas)}
	for n := range p.partitions {
		wanted = append(wanted, subjects.RunsConfig(n, cfg.Replicas))
	}
	for _, want := range wanted {
		sp := streamPlan{Asset: Asset{Name: want.Name}, config: want}
		var found *jetstream.StreamInfo
		if !strings.HasPrefix(want.Name, subjects.RunsPrefix) || slices.Contains(names, want.Name) {
			found, err = s.findStream(ctx, want.Name)
		}
		switch {
		case err != nil:
			return nil, err
		case found == nil:
			sp.Missing = true
			sp.config.Replicas = max(cfg.Replicas, 1)
		default:
			if sp.config, sp.Changes, err = adapt(found.Config, want); err != nil {
				return nil, err
			}
		}
		p.streams = append(p.streams, sp)
	}
	p.workers = Asset{Name: subjects.TurnsStream + " > " + subjects.Workers}
	if p.workers.Missing = p.streams[2].Missing; !p.workers.Missing {
		_, err := s.Workers(ctx)
		if p.workers.Missing = errors.Is(err, ErrNotProvisioned); err != nil && !p.workers.Missing {
			return nil, err
		}
	}
	return p, nil
}

// runsStreams names the streams that take runs' records.
func (s *Store) runsStreams(ctx context.Context) ([]string, error) {
	var names []string
	err := s.allowed(ctx, s.api+"STREAM.NAMES", func(ctx context.Context) error {
		names = nil
		lister := s.js.StreamNames(ctx, jetstream.WithStreamListSubject(subjects.AllRunsSubject))
		for name := range lister.Name() {
			names = append(names, name)
		}
		return lister.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("looking for the streams: %w", err)
	}
	return names, nil
}

// findStream is nil where there is no such stream.
func (s *Store) findStream(ctx context.Context, name string) (info *jetstream.StreamInfo, err error) {
	err = s.allowed(ctx, s.api+"STREAM.INFO."+name, func(ctx context.Context) error {
		st, err := s.js.Stream(ctx, name)
		if err == nil {
			info = st.CachedInfo()
		}
		return err
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for stream %s: %w", name, err)
	}
	return info, nil
}

// provision makes and changes what the plan says. What is there already and as it has to
// be is not touched, so that a user without the right to may start where nothing is due.
func (s *Store) provision(ctx context.Context, p *plan) error {
	for _, sp := range p.streams {
		if !sp.Due() {
			continue
		}
		verb, do := "UPDATE", s.js.UpdateStream
		if sp.Missing {
			verb, do = "CREATE", s.js.CreateStream
		}
		err := s.allowed(ctx, s.api+"STREAM."+verb+"."+sp.Name, func(ctx context.Context) error {
			_, err := do(ctx, sp.config)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // made by somebody else just now
				_, err = s.js.UpdateStream(ctx, sp.config)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("provisioning stream %s: %w", sp.Name, needsInit(err))
		}
		if len(sp.Changes) > 0 {
			s.log.Info("changed a stream's settings", "stream", sp.Name, "changes", strings.Join(sp.Changes, ", "))
		}
	}
	if !p.workers.Due() {
		return nil
	}
	return s.MakeWorkers(ctx, 0)
}

// needsInit says what to do about a right that is missing.
func needsInit(err error) error {
	if errors.Is(err, ErrForbidden) {
		return fmt.Errorf("%w; run \"rejoin init\" as a user who may", err)
	}
	return err
}

// notProvisioned names what is missing.
func (p *plan) notProvisioned() error {
	return fmt.Errorf("%w: missing are %s", ErrNotProvisioned, strings.Join(p.missing(), ", "))
}

// Provision makes the streams, buckets and the consumer that are missing and brings the
// settings of those that exist up to date, and says what it did. dry only looks. Nothing
// is ever removed: the error is ErrRefused where something would be lost, and nothing is
// changed then; fewer partitions than there are is such a thing. Of cfg it uses all but
// Provision. The connection stays the caller's.
func Provision(ctx context.Context, nc *nats.Conn, cfg Config, dry bool) ([]Asset, error) {
	s, err := newStore(nc, cfg)
	if err != nil {
		return nil, err
	}
	p, err := s.look(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Partitions > 0 && cfg.Partitions < p.existing {
		return nil, fmt.Errorf("%w: %d partitions exist and %d were asked for; a partition is never removed, its runs would be lost",
			ErrRefused, p.existing, cfg.Partitions)
	}
	if !dry {
		err = s.provision(ctx, p)
	}
	return p.assets(), err
}
