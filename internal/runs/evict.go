package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// tidyEvery is how often a janitor looks for logs and segments without an entry.
// They come only from a process that died between two steps of a start or of an
// eviction, and cost nothing but room.
const tidyEvery = time.Minute

// evict removes ended runs: those kept for longer than the retention, and of each
// owner the oldest beyond the number it may keep. Within a chat the older run
// always leaves first, so that the pointer's run is the last one there is.
func (j *Janitor) evict(ctx context.Context, v *view, now time.Time) error {
	due := v.due(now, j.cfg)
	var errs []error
	for _, e := range due {
		if err := j.store.Evict(ctx, e.RunID); err != nil {
			errs = append(errs, fmt.Errorf("evicting run %s: %w", e.RunID, err))
			continue
		}
		j.log.Debug("evicted a run", "run", e.RunID)
		count(j.cfg.Metrics.Evicted)
	}
	return errors.Join(errs...)
}

// mayKeep is how many ended runs an owner may have retained.
func (c *JanitorConfig) mayKeep(owner string) int {
	if c.MaxEndedPerOwner == 0 && owner == "" {
		return math.MaxInt
	}
	return or(c.MaxEndedPerOwner, subjects.MaxEndedPerOwner)
}

// due lists what has to leave, in the order in which it may.
func (v *view) due(now time.Time, cfg JanitorConfig) []*Entry {
	type name struct {
		realm subjects.Realm
		id    string
	}
	owners, chats := map[name][]*Entry{}, map[name][]*Entry{}
	for _, e := range v.entries {
		if !e.Active() {
			o := name{e.Realm, e.Owner}
			owners[o] = append(owners[o], e)
		}
		c := name{e.Realm, e.ChatID}
		chats[c] = append(chats[c], e)
	}
	leaves := map[subjects.RunID]bool{}
	for _, ended := range owners {
		slices.SortFunc(ended, func(a, b *Entry) int { return v.stored[b.RunID].Compare(v.stored[a.RunID]) })
		for i, e := range ended {
			age := now.Sub(v.stored[e.RunID])
			if (i >= cfg.mayKeep(e.Owner) || age >= cfg.Retention) && !v.waits(e, age) {
				leaves[e.RunID] = true
			}
		}
	}
	var due []*Entry
	for _, chat := range chats {
		slices.SortFunc(chat, func(a, b *Entry) int { return cmp.Compare(a.place(), b.place()) })
		for _, e := range chat {
			if !leaves[e.RunID] {
				break
			}
			due = append(due, e)
		}
	}
	return due
}

// waits says whether an answer to the ended run may still start the chat's next one.
func (v *view) waits(e *Entry, age time.Duration) bool {
	p := v.pointer(e)
	return e.Doing() == StateWaiting && p != nil && p.RunID == e.RunID && age < subjects.LogMaxAge
}

// place orders the runs of a chat: one that waits behind others is the newest.
func (e *Entry) place() uint64 { return e.Generation - 1 }

// Evict removes an ended run: pointer, log, segments, and at last the entry, so that
// a process that dies in between leaves an entry by which the next sweep goes on. A
// run that is active is left alone.
func (s *Store) Evict(ctx context.Context, id subjects.RunID) error {
	e, err := s.Entry(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && e.Active() {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.dropPointer(ctx, e.Realm, e.ChatID, id); err != nil {
		return err
	}
	if err := s.removeData(ctx, id); err != nil {
		return err
	}
	return s.deleteKey(ctx, subjects.KeySubject(subjects.RunKey(id)), e.revision, subjects.MarkerTTL)
}

// Discard removes a run that no pointer ever named, as if it had not been started:
// log, segments and entry. Its writer alone may call it. What that writer sent and may
// not have arrived yet finds the entry's place taken by a marker.
func (s *Store) Discard(ctx context.Context, id subjects.RunID) error {
	subject := subjects.KeySubject(subjects.RunKey(id))
	for {
		m, err := s.lastOf(ctx, subjects.BucketStream, subject)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil && m.deleted() {
			return s.removeData(ctx, id)
		}
		err = s.deleteKey(ctx, subject, m.seq, subjects.MarkerTTL)
		if err != nil && !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// removeData purges a run's log, its segments, its turn and what was sent to it. Where
// that is left to janitors they find it: it has no entry.
func (s *Store) removeData(ctx context.Context, id subjects.RunID) error {
	if s.leave {
		return nil
	}
	if err := s.purge(ctx, subjects.RunsStream(id.Partition()), subjects.RunSubject(id)); err != nil {
		return err
	}
	for _, keys := range []string{subjects.SegmentsSubject(id), subjects.KeySubject(subjects.TurnKey(id)), subjects.TurnPartsSubject(id)} {
		if err := s.purge(ctx, subjects.BucketStream, keys); err != nil {
			return err
		}
	}
	return s.purge(ctx, subjects.ControlStream, subjects.ControlsSubject(id))
}

// tidy removes logs, segments and turns that belong to no run. One is believed to be stray
// only when two looks, JanitorConfig.Tidy apart, have found it without an entry: a start
// stores its first record before its entry.
func (j *Janitor) tidy(ctx context.Context) error {
	found := map[subjects.RunID]bool{}
	for p := range j.store.partitions {
		if err := j.store.runsWithData(ctx, subjects.RunsStream(p), ">", subjects.RunOfSubject, found); err != nil {
			return err
		}
	}
	err := j.store.runsWithData(ctx, subjects.BucketStream, subjects.SegmentKeysSubject, subjects.RunOfSegmentSubject, found)
	if err == nil {
		err = j.store.runsWithData(ctx, subjects.BucketStream, subjects.TurnKeysSubject, subjects.RunOfTurnKeySubject, found)
	}
	if err != nil {
		return err
	}
	entries := map[subjects.RunID]bool{}
	err = j.store.eachKey(ctx, subjects.BucketStream, subjects.RunKeysSubject, func(m message) {
		if id, err := subjects.RunOfSubject(m.subject); err == nil {
			entries[id] = true
		}
	})
	if err != nil {
		return err
	}
	strays := map[subjects.RunID]time.Time{}
	for id := range found {
		if entries[id] {
			continue
		}
		since, known := j.strays[id]
		if known && time.Since(since) >= j.cfg.Tidy {
			if err := j.removeStray(ctx, id); err != nil {
				return err
			}
			continue
		}
		strays[id] = cmp.Or(since, time.Now())
	}
	j.strays = strays
	return nil
}

func (j *Janitor) removeStray(ctx context.Context, id subjects.RunID) error {
	if _, err := j.store.Entry(ctx, id); !errors.Is(err, ErrNotFound) {
		return err
	}
	j.log.Info("removing the log and segments of a run that has no entry", "run", id)
	err := j.store.removeData(ctx, id)
	if err == nil {
		count(j.cfg.Metrics.Stray)
	}
	return err
}

// runsWithData adds the runs that own a subject of the stream to found.
func (s *Store) runsWithData(ctx context.Context, stream, filter string,
	run func(string) (subjects.RunID, error), found map[subjects.RunID]bool) error {
	info, err := s.streamInfo(ctx, stream, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return fmt.Errorf("looking at stream %s: %w", stream, err)
	}
	for subject := range info.State.Subjects {
		if id, err := run(subject); err == nil {
			found[id] = true
		}
	}
	return nil
}

// brokerTime is the time by the broker's clock, the one that stamped what is stored.
func (s *Store) brokerTime(ctx context.Context) (time.Time, error) {
	info, err := s.streamInfo(ctx, subjects.BucketStream)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking the broker for its time: %w", err)
	}
	return info.TimeStamp, nil
}

func (s *Store) streamInfo(ctx context.Context, stream string, opts ...jetstream.StreamInfoOpt) (info *jetstream.StreamInfo, err error) {
	err = s.question(ctx, func(ctx context.Context) error {
		st, err := s.js.Stream(ctx, stream)
		if err == nil {
			info, err = st.Info(ctx, opts...)
		}
		return err
	})
	return info, err
}
