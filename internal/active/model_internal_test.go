package active

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// bucket is the model of what the mirror mirrors: values by key, as they were at each
// revision.
type bucket struct {
	rng     *rand.Rand
	log     []runs.Change // revision n is log[n-1]
	chats   map[string]*runs.Pointer
	entries map[subjects.RunID]*runs.Entry
	ids     []subjects.RunID // of all runs there ever were
}

func newBucket(rng *rand.Rand) *bucket {
	return &bucket{rng: rng, chats: map[string]*runs.Pointer{}, entries: map[subjects.RunID]*runs.Entry{}}
}

func (b *bucket) put(c runs.Change) {
	c.Revision = uint64(len(b.log) + 1)
	b.log = append(b.log, c)
}

func (b *bucket) putEntry(id subjects.RunID, e *runs.Entry) {
	if e == nil {
		delete(b.entries, id)
	} else {
		b.entries[id] = e
	}
	b.put(runs.Change{RunID: id, Entry: e})
}

func (b *bucket) putPointer(key string, p *runs.Pointer) {
	if p == nil {
		delete(b.chats, key)
	} else {
		b.chats[key] = p
	}
	b.put(runs.Change{ChatKey: key, Pointer: p})
}

func key(t *testing.T, e *runs.Entry) string {
	t.Helper()
	k, err := subjects.PointerKey(e.Realm, e.ChatID)
	require.NoError(t, err)
	return k
}

// step does to the bucket one thing that happens to runs.
func (b *bucket) step(t *testing.T) {
	t.Helper()
	if len(b.entries) == 0 || b.rng.IntN(4) == 0 {
		b.start(t)
		return
	}
	ids := slices.Sorted(maps.Keys(b.entries))
	id := ids[b.rng.IntN(len(ids))]
	e := *b.entries[id]
	p := b.chats[key(t, &e)]
	switch at := b.rng.IntN(10); {
	case e.End != nil && at < 4 && b.oldest(&e): // evicted; a pointer that names it goes first
		if p != nil && p.RunID == id {
			b.putPointer(key(t, &e), nil)
		}
		b.putEntry(id, nil)
	case p == nil || p.RunID != id && p.Generation <= e.Generation: // its start failed
		b.putEntry(id, nil)
	case e.End != nil:
		e.Seq++ // a change that nobody sees
		b.putEntry(id, &e)
	case at < 4:
		e.State = []runs.State{runs.StateRunning, runs.StateFinishing}[b.rng.IntN(2)]
		b.putEntry(id, &e)
	case at < 6:
		e.State = runs.StateRunning
		e.Questions = []runs.Question{{RequestID: "q"}}
		b.putEntry(id, &e)
	default:
		e.State = runs.StateEnded
		e.End = &subjects.End{Persisted: true, Reason: subjects.ReasonDone}
		e.Questions = nil
		if at > 7 {
			e.Questions = []runs.Question{{RequestID: "q", Interrupt: true}}
		}
		b.putEntry(id, &e)
	}
}

// oldest says whether no older run of the chat is left.
func (b *bucket) oldest(e *runs.Entry) bool {
	for _, o := range b.entries {
		if o.Realm == e.Realm && o.ChatID == e.ChatID && o.Generation < e.Generation {
			return false
		}
	}
	return true
}

// start makes a run and, mostly, its chat's newest one.
func (b *bucket) start(t *testing.T) {
	t.Helper()
	id := subjects.RunID(fmt.Sprintf("0-%025d0", len(b.ids)))
	e := &runs.Entry{RunID: id, Realm: []subjects.Realm{"", "t", "t=u"}[b.rng.IntN(3)], ChatID: []string{"a", "b"}[b.rng.IntN(2)],
		State: runs.StateQueued, StartedAt: time.Unix(int64(len(b.ids)), 0)}
	_, err := subjects.ParseRunID(string(id))
	require.NoError(t, err)
	b.ids = append(b.ids, id)
	k := key(t, e)
	p := runs.Pointer{RunID: id, Generation: 1}
	if old := b.chats[k]; old != nil {
		p.Generation = old.Generation + 1
	}
	e.Generation = p.Generation
	b.putEntry(id, e)
	if b.rng.IntN(8) > 0 {
		b.putPointer(k, &p)
	}
}

// at is what a replica that has come to a revision shows: each key's newest value, in
// the order of the revisions.
func (b *bucket) at(revision int) []runs.Change {
	newest := map[string]runs.Change{}
	for _, c := range b.log[:revision] {
		newest[string(c.RunID)+"/"+c.ChatKey] = c
	}
	var all []runs.Change
	for _, c := range newest {
		if c.Entry != nil || c.Pointer != nil {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b runs.Change) int { // entries first
		if (a.RunID == "") != (b.RunID == "") {
			return len(a.ChatKey) - len(b.ChatKey)
		}
		return int(a.Revision) - int(b.Revision)
	})
	return all
}

// live is what the feed must show: all that runs.Entry.Doing calls not ended, but for those
// whose chat has gone on.
func (b *bucket) live(t *testing.T) map[subjects.RunID]runs.State {
	t.Helper()
	all := map[subjects.RunID]runs.State{}
	for id, e := range b.entries {
		state := e.Doing()
		if state == runs.StateWaiting && e.End != nil {
			if p := b.chats[key(t, e)]; p == nil || p.RunID != id {
				continue
			}
		}
		if state != runs.StateEnded {
			all[id] = state
		}
	}
	return all
}

// watcher is a subscriber: a snapshot, and the changes after it.
type watcher struct {
	t     *testing.T
	live  map[subjects.RunID]runs.State
	ended map[subjects.RunID]bool
}

func (w *watcher) take(changed []*Run) {
	w.t.Helper()
	for _, r := range changed {
		require.False(w.t, w.ended[r.RunID], "%s is told of after its end", r.RunID)
		if r.State == runs.StateEnded {
			w.ended[r.RunID] = true
			delete(w.live, r.RunID)
			continue
		}
		require.NotEqual(w.t, r.State, w.live[r.RunID], "nothing has changed of %s", r.RunID)
		w.live[r.RunID] = r.State
	}
}

func (m *mirror) states() map[subjects.RunID]runs.State {
	all := map[subjects.RunID]runs.State{}
	for _, realm := range m.live {
		for id, r := range realm {
			all[id] = r.State
		}
	}
	return all
}

// readAll reads from a replica that has come to a revision, while other things are heard.
func readAll(b *bucket, m *mirror, revision int, meanwhile func()) (asked int) {
	m.beginRead()
	for _, c := range b.at(revision) {
		m.show(c)
		meanwhile()
	}
	ask, _ := m.endRead()
	for _, d := range ask {
		meanwhile()
		e, newest := b.entries[d.id], d.revision
		for _, c := range b.log {
			if c.RunID == d.id && c.Entry != nil && e != nil {
				newest = c.Revision
			}
		}
		m.settle(d, newest, e)
	}
	return len(ask)
}

// Whatever is heard in which order, more than once or not at all, and whatever a replica
// that lags shows: after two reads the mirror shows what the bucket holds, a subscriber
// has been told the same, and of no run after its end.
func TestTheMirrorBecomesTheBucket(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b, m := newBucket(rng), newMirror()
		lost, repeated, disorder := rng.IntN(60), rng.IntN(30), rng.IntN(20)
		var under []runs.Change // on its way
		sent := map[uint64]uint64{}
		hear := func() {
			for len(under) > disorder || len(under) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(under))
				// None is on its way for as long as two reads take.
				if rng.IntN(100) >= lost && m.read <= sent[under[i].Revision]+1 {
					m.apply(under[i])
				}
				if rng.IntN(100) >= repeated {
					under = slices.Delete(under, i, i+1)
				}
			}
		}
		happen := func(n int) {
			for range n {
				from := len(b.log)
				b.step(t)
				for _, c := range b.log[from:] {
					under, sent[c.Revision] = append(under, c), m.read
				}
				hear()
			}
		}
		happen(rng.IntN(30))
		replica := len(b.log)
		readAll(b, m, replica, func() {})
		w := &watcher{t: t, live: m.states(), ended: map[subjects.RunID]bool{}}
		m.takeChanged()
		for range 5 {
			happen(rng.IntN(40))
			replica += rng.IntN(len(b.log) - replica + 1)
			readAll(b, m, replica, func() { happen(rng.IntN(2)) })
			w.take(m.takeChanged())
		}
		for len(under) > 0 {
			hear()
		}
		readAll(b, m, len(b.log), func() {})
		asked := readAll(b, m, len(b.log), func() {})
		w.take(m.takeChanged())
		require.Equal(t, b.live(t), m.states(), "seed %d", seed)
		require.Equal(t, b.live(t), w.live, "seed %d", seed)
		require.Zero(t, readAll(b, m, len(b.log), func() {}), "after %d", asked)
		b.start(t) // so that the replica is known to be past all the rest
		readAll(b, m, len(b.log), func() {})
		readAll(b, m, len(b.log), func() {})
		require.Len(t, m.runs, len(b.entries), "what the bucket has lost is forgotten")
		require.Len(t, m.chats, len(b.chats))
	}
}
