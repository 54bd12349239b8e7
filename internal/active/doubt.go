package active

import (
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// doubted is a run that two reads on end did not show as it is known.
type doubted struct {
	id       subjects.RunID
	revision uint64 // at which it is known
}

// beginRead begins a read of everything. What is applied from now on, heard or read, is
// what the read shows.
func (m *mirror) beginRead() { m.read, m.upTo = m.read+1, 0 }

// show applies what the read shows. Whoever answers has come to that revision at least.
func (m *mirror) show(c runs.Change) {
	m.upTo = max(m.upTo, c.Revision)
	m.apply(c)
}

// endRead says that the read has shown everything. What it did not show, or showed older
// than it is known, is doubted, and nothing more: a replica may lag or have lost it. If
// the next read does not show it either, the leader is to be asked about a run that is
// live. One that is over is forgotten, unless the replica may only not have come to its
// end yet. again says that a read soon would settle a doubt.
func (m *mirror) endRead() (ask []doubted, again bool) {
	for id, k := range m.runs {
		switch {
		case k.read == m.read:
		case !k.doubted:
			k.doubted = true
			again = again || !k.over
		case !k.over:
			ask = append(ask, doubted{id: id, revision: k.revision})
		case k.revision < m.upTo:
			delete(m.runs, id)
		}
	}
	for key, c := range m.chats {
		switch {
		case c.read == m.read:
		case !c.doubted:
			c.doubted = true
		case len(c.waits) == 0 && c.revision < m.upTo:
			delete(m.chats, key)
		}
	}
	return ask, again
}

// settle takes the leader's word for a doubted run, unless it was heard of meanwhile.
// A nil entry is one that the leader does not have.
func (m *mirror) settle(d doubted, revision uint64, e *runs.Entry) {
	k := m.runs[d.id]
	if k == nil || k.over || k.revision != d.revision {
		return
	}
	k.seen = seen{revision: revision, read: m.read}
	m.become(d.id, k, e)
}
