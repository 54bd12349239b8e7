package active

import (
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// mirror is what is known of all runs and chats that the bucket holds. Changes may come
// in any order, more than once or not at all: the revision of each key decides what is
// newer, and a read of everything finds what was missed. It has no clock, no lock and no
// broker.
type mirror struct {
	runs  map[subjects.RunID]*known
	chats map[string]*chat // by the pointer's key
	live  map[subjects.Realm]map[subjects.RunID]*Run

	read    uint64 // counts the reads of everything
	upTo    uint64 // the newest revision that the last read has shown
	changed []*Run // what has become visible and was not taken yet
}

// known is what is known of one run. One that is over stays known, so that nothing old
// brings it back, until the bucket has not held it for a while.
type known struct {
	seen
	run  *Run // as it is shown; nil once it is over, and before anything was shown
	over bool

	// Of a run that has ended and asked something:
	end        *subjects.End
	chat       *chat
	generation uint64
}

// chat is what is known of a chat's pointer. One without a revision is unknown.
type chat struct {
	seen
	run        subjects.RunID // "" where the pointer was deleted
	generation uint64
	waits      map[subjects.RunID]*known // runs that have ended and wait for an answer
}

// seen is how new what is known of a key is.
type seen struct {
	revision uint64
	read     uint64 // the read that showed it, or during which it was heard of
	doubted  bool   // the read before the next one did not show it so
}

// take says whether a revision is new. What is known already is confirmed.
func (s *seen) take(revision, read uint64) bool {
	if revision < s.revision {
		return false
	}
	isNew := revision > s.revision
	*s = seen{revision: revision, read: read}
	return isNew
}

func newMirror() *mirror {
	return &mirror{runs: map[subjects.RunID]*known{}, chats: map[string]*chat{}, live: map[subjects.Realm]map[subjects.RunID]*Run{}}
}

// apply takes what was heard or read.
func (m *mirror) apply(c runs.Change) {
	if c.RunID == "" {
		m.pointer(c)
		return
	}
	k := m.runs[c.RunID]
	if k == nil {
		k = &known{}
		m.runs[c.RunID] = k
	}
	if k.take(c.Revision, m.read) {
		m.become(c.RunID, k, c.Entry)
	}
}

// become makes a run what its entry says; nil is an entry that was deleted.
func (m *mirror) become(id subjects.RunID, k *known, e *runs.Entry) {
	if k.over {
		return
	}
	if e == nil {
		m.finish(id, k, nil)
		return
	}
	state := e.Doing()
	if state == runs.StateWaiting && e.End != nil && !m.waits(k, e) {
		state = runs.StateEnded
	}
	if state != runs.StateEnded {
		m.set(k, shown(e, state))
		return
	}
	if k.run == nil { // it began and ended where nobody heard it
		k.run = shown(e, state)
	}
	m.finish(id, k, e.End)
}

// waits says whether a run that has asked something and ended may have its answer still:
// not if its chat's pointer went on to another run. A pointer that is older than the run is
// one whose change was missed.
func (m *mirror) waits(k *known, e *runs.Entry) bool {
	key, err := subjects.PointerKey(e.Realm, e.ChatID)
	if err != nil {
		return false
	}
	c := m.chats[key]
	if c == nil {
		c = &chat{}
		m.chats[key] = c
	}
	k.end, k.chat, k.generation = e.End, c, e.Generation
	if c.leftBehind(e.RunID, k) {
		return false
	}
	if c.waits == nil {
		c.waits = map[subjects.RunID]*known{}
	}
	c.waits[e.RunID] = k
	return true
}

func (c *chat) leftBehind(id subjects.RunID, k *known) bool {
	return c.revision > 0 && c.run != id && (c.generation >= k.generation || c.revision > k.revision)
}

func (m *mirror) pointer(change runs.Change) {
	c := m.chats[change.ChatKey]
	if c == nil {
		c = &chat{}
		m.chats[change.ChatKey] = c
	}
	if !c.take(change.Revision, m.read) {
		return
	}
	c.run, c.generation = "", 0
	if p := change.Pointer; p != nil {
		c.run, c.generation = p.RunID, p.Generation
	}
	for id, k := range c.waits {
		if c.leftBehind(id, k) {
			m.finish(id, k, k.end)
		}
	}
}

// set shows a run that is live.
func (m *mirror) set(k *known, r *Run) {
	if k.run != nil && k.run.State == r.State {
		return
	}
	k.run = r
	if m.live[r.realm] == nil {
		m.live[r.realm] = map[subjects.RunID]*Run{}
	}
	m.live[r.realm][r.RunID] = r
	m.changed = append(m.changed, r)
}

// finish shows that a run is over, once, and no more of it.
func (m *mirror) finish(id subjects.RunID, k *known, end *subjects.End) {
	if k.chat != nil {
		delete(k.chat.waits, id)
	}
	if r := k.run; r != nil {
		delete(m.live[r.realm], id)
		if len(m.live[r.realm]) == 0 {
			delete(m.live, r.realm)
		}
		m.changed = append(m.changed, r.over(end))
	}
	*k = known{seen: k.seen, over: true}
}

// takeChanged gives what has become visible since it was last asked, in order.
func (m *mirror) takeChanged() []*Run {
	changed := m.changed
	m.changed = nil
	return changed
}
