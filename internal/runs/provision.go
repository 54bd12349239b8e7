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

// fixed are the streams that there are one of.
var fixed = []string{subjects.BucketStream, subjects.LeaseBucketStream, subjects.TurnsStream,
	subjects.ControlStream, subjects.HistoryStream}

// partitionsOf is how many partitions the streams of these names are: up to the last, holes
// included.
func partitionsOf(names []string) int {
	n := subjects.MaxPartitions
	for n > 0 && !slices.Contains(names, subjects.RunsStream(n-1)) {
		n--
	}
	return n
}

// verify looks whether everything is there, by its name alone, and gives the number of
// partitions. The error is ErrNotProvisioned.
func (s *Store) verify(ctx context.Context, partitions int) (int, error) {
	names, err := s.streamNames(ctx)
	if err != nil {
		return 0, err
	}
	n := max(partitionsOf(names), partitions, 1)
	needed := slices.Clone(fixed)
	for p := range n {
		needed = append(needed, subjects.RunsStream(p))
	}
	missing := slices.DeleteFunc(needed, func(name string) bool { return slices.Contains(names, name) })
	if len(missing) > 0 {
		return 0, fmt.Errorf("%w: missing are %s; \"rejoin init\" makes them", ErrNotProvisioned, strings.Join(missing, ", "))
	}
	return n, nil
}

// look holds what there is against what cfg wants. It changes nothing, and the error is
// ErrRefused where the two cannot be brought together without losing something.
func (s *Store) look(ctx context.Context, cfg Config) (*plan, error) {
	names, err := s.streamNames(ctx)
	if err != nil {
		return nil, err
	}
	p := &plan{existing: partitionsOf(names)}
	if p.partitions = max(cfg.Partitions, p.existing); p.partitions == 0 {
		p.partitions = subjects.Partitions
	}
	wanted := []jetstream.StreamConfig{subjects.BucketConfig(cfg.Replicas), subjects.LeaseConfig(cfg.Replicas),
		subjects.TurnsConfig(cfg.Replicas), subjects.ControlConfig(cfg.Replicas), subjects.HistoryConfig(cfg.Replicas)}
	for n := range p.partitions {
		wanted = append(wanted, subjects.RunsConfig(n, cfg.Replicas))
	}
	for _, want := range wanted {
		sp, err := s.lookAt(ctx, want, names)
		if err != nil {
			return nil, err
		}
		p.streams = append(p.streams, sp)
	}
	p.workers = Asset{Name: subjects.TurnsStream + " > " + subjects.Workers, Missing: true}
	if slices.Contains(names, subjects.TurnsStream) {
		_, err = s.Workers(ctx)
		p.workers.Missing = errors.Is(err, ErrNotProvisioned)
		if err != nil && !p.workers.Missing {
			return nil, err
		}
	}
	return p, nil
}

// lookAt is look for one stream.
func (s *Store) lookAt(ctx context.Context, want jetstream.StreamConfig, names []string) (streamPlan, error) {
	sp := streamPlan{Asset: Asset{Name: want.Name}, config: want}
	var found *jetstream.StreamInfo
	var err error
	if slices.Contains(names, want.Name) {
		if found, err = s.findStream(ctx, want.Name); err != nil {
			return sp, err
		}
	}
	if found == nil {
		sp.Missing = true
		sp.config.Replicas = max(want.Replicas, 1)
		return sp, nil
	}
	sp.config, sp.Changes, err = adapt(found.Config, want)
	return sp, err
}

// streamNames names all streams that the user's account has.
func (s *Store) streamNames(ctx context.Context) ([]string, error) {
	var names []string
	err := s.allowed(ctx, s.api+"STREAM.NAMES", func(ctx context.Context) error {
		lister := s.js.StreamNames(ctx)
		for name := range lister.Name() {
			names = append(names, name)
		}
		return lister.Err()
	})
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("looking for the streams: %w; does the server run JetStream (-js), for this user's account and domain?", err)
	} else if err != nil {
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
