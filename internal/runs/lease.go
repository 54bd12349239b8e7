package runs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/subjects"
)

// MinLease is the shortest lease: the broker counts the life of a key in seconds.
const MinLease = time.Second

// Lease is one process's claim to be alive, in the name of all runs it produces.
// Its methods may be called at once from anywhere.
type Lease struct {
	store *Store
	id    string
	ttl   time.Duration
	value []byte

	trouble Trouble // with renewing it

	mu   sync.Mutex
	till time.Time
}

// NewLease makes a lease that nobody sees until Renew or Run. ttl is rounded up to
// whole seconds.
func (s *Store) NewLease(ttl time.Duration) *Lease {
	ttl = max((ttl + time.Second - 1).Truncate(time.Second), MinLease)
	host, _ := os.Hostname()
	value, _ := json.Marshal(map[string]any{"host": host, "pid": os.Getpid(), "since": time.Now().UTC()})
	return &Lease{store: s, id: nuid.Next(), ttl: ttl, value: value}
}

// ID names the lease in runs' entries.
func (l *Lease) ID() string { return l.id }

// TTL is how long the lease holds after a renewal.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Held says whether the process may still call itself alive. It trusts a renewal
// for three quarters of its time, counted from before the call, so that it gives
// itself up before anyone else does.
func (l *Lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.till)
}

// Renew claims the lease for another TTL.
func (l *Lease) Renew(ctx context.Context) error {
	from := time.Now()
	m := &nats.Msg{Subject: subjects.LeaseSubject(l.id), Data: l.value,
		Header: nats.Header{jetstream.MsgTTLHeader: {l.ttl.String()}}}
	if _, err := l.store.put(ctx, m, nil); err != nil {
		return err
	}
	l.mu.Lock()
	l.till = from.Add(l.ttl * 3 / 4)
	l.mu.Unlock()
	return nil
}

// Run renews the lease until ctx is done, then gives it up. each is called after
// every attempt, renewed or not; it may be nil. Run blocks.
func (l *Lease) Run(ctx context.Context, each func(error)) {
	for {
		err := l.Renew(ctx)
		if ctx.Err() == nil {
			l.tell(err)
		}
		if each != nil && ctx.Err() == nil {
			each(err)
		}
		wait := l.ttl / 4
		if err != nil {
			wait = min(wait, time.Second)
		}
		select {
		case <-ctx.Done():
			l.drop()
			return
		case <-l.store.Reconnected():
		case <-time.After(wait):
		}
	}
}

// tell logs what became of a renewal: that it fails, that the lease is lost by that, and
// that it is renewed again.
func (l *Lease) tell(err error) {
	if err == nil {
		if lasted, was := l.trouble.Over(); was {
			l.store.log.Info("lease renewed again", "producer", l.id, "after", lasted)
		}
		return
	}
	what := "lease not renewed; runs are taken for abandoned when this lasts"
	if !l.Held() {
		what = "lease not held any more; runs may be taken for abandoned until it is renewed"
	}
	if l.trouble.Due(what, 0) {
		l.store.log.Warn(what, "producer", l.id, "error", err)
	}
}

// drop gives the lease up, so that nobody waits for it to run out. Failing to is
// harmless.
func (l *Lease) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = l.store.put(ctx, marker(subjects.LeaseSubject(l.id), subjects.MarkerTTL), nil)
	l.mu.Lock()
	l.till = time.Time{}
	l.mu.Unlock()
}

// leases lists the producers whose lease some replica shows.
func (s *Store) leases(ctx context.Context) (map[string]bool, error) {
	alive := map[string]bool{}
	err := s.eachKey(ctx, subjects.LeaseBucketStream, subjects.LeaseKeysSubject, func(m message) {
		alive[subjects.ProducerOfLease(m.subject)] = true
	})
	return alive, err
}

// ProducerAlive asks the leader whether a lease is held.
func (s *Store) ProducerAlive(ctx context.Context, producer string) (bool, error) {
	m, err := s.lastOf(ctx, subjects.LeaseBucketStream, subjects.LeaseSubject(producer))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && !m.deleted(), err
}
