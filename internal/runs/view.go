package runs

import (
	"context"
	"slices"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// view is what a sweep sees at its beginning. A replica may have shown it, so every
// decision is made again at the leader.
type view struct {
	entries  []*Entry
	stored   map[subjects.RunID]time.Time // broker's time of each entry's last change
	pointers map[string]*Pointer
	alive    map[string]bool
	promoted map[*Pointer]bool // chats whose queue was seen to
}

func (j *Janitor) look(ctx context.Context) (*view, error) {
	v := &view{stored: map[subjects.RunID]time.Time{}, pointers: map[string]*Pointer{}, promoted: map[*Pointer]bool{}}
	latest := map[subjects.RunID]*Entry{}
	err := j.store.eachKey(ctx, subjects.BucketStream, subjects.RunKeysSubject, func(m message) {
		e, err := parseEntry(m)
		if err != nil {
			j.log.Error("a run's entry cannot be read; the run is left alone", "subject", m.subject, "error", err)
			return
		}
		latest[e.RunID], v.stored[e.RunID] = e, m.time
	})
	if err != nil {
		return nil, err
	}
	for _, e := range latest {
		v.entries = append(v.entries, e)
	}
	err = j.store.eachKey(ctx, subjects.BucketStream, subjects.PointerKeysSubject, func(m message) {
		if p, err := parsePointer(m, ""); err == nil {
			v.pointers[m.subject] = p
		}
	})
	if err != nil {
		return nil, err
	}
	v.alive, err = j.store.leases(ctx)
	return v, err
}

// replaced says whether the chat's pointer has gone past the run.
func (v *view) replaced(e *Entry) bool {
	p := v.pointer(e)
	return p != nil && e.replacedBy(p)
}

// pointer is that of the run's chat; nil where there is none.
func (v *view) pointer(e *Entry) *Pointer {
	key, err := subjects.PointerKey(e.Realm, e.ChatID)
	if err != nil {
		return nil
	}
	return v.pointers[subjects.KeySubject(key)]
}

// replacedBy says whether the chat has gone on to a newer run. One that waits behind
// others has not had its place yet, even if somebody who meant to give it one died or
// came too late and left a generation in its entry.
func (e *Entry) replacedBy(p *Pointer) bool {
	return p.RunID != "" && p.RunID != e.RunID && e.Generation > 0 && p.Generation > e.Generation &&
		!slices.Contains(p.Queue, e.RunID)
}
