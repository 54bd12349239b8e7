package killswitch

import "github.com/rejoin/rejoin/internal/runs"

// known is one setting, and how new it is.
type known struct {
	Named
	revision uint64
	bad      bool // it cannot be read, and counts as on
}

// state is what a process knows of all settings, by key.
type state map[string]known

// merge takes in what was read or heard, and returns what that changes for whoever
// watches. What is older than what is known changes nothing.
func (st state) merge(stored ...runs.Switch) (changed []known) {
	for _, sw := range stored {
		was, had := st[sw.Key]
		if had && was.revision >= sw.Revision {
			continue
		}
		target, err := targetOf(sw.Key)
		if err != nil {
			continue // nobody's
		}
		now := known{Named: Named{target, parse(sw.Value)}, revision: sw.Revision}
		now.bad = sw.Value != nil && now.Setting == Setting{}
		st[sw.Key] = now
		if now.bad || now.Percent != was.Percent || had && now.Setting != was.Setting {
			changed = append(changed, now)
		}
	}
	return changed
}

// missing are the keys that are known and were not read, with their revisions: those that
// are gone, and those that the replica does not have yet.
func (st state) missing(stored []runs.Switch) map[string]uint64 {
	read := make(map[string]bool, len(stored))
	for _, sw := range stored {
		read[sw.Key] = true
	}
	keys := map[string]uint64{}
	for key, k := range st {
		if !read[key] {
			keys[key] = k.revision
		}
	}
	return keys
}

// forget drops a setting of that revision, and returns what that changes.
func (st state) forget(key string, revision uint64) (changed []known) {
	was, had := st[key]
	if !had || was.revision != revision {
		return nil
	}
	delete(st, key)
	if was.Percent > 0 {
		changed = append(changed, known{Named: Named{Target: was.Target}})
	}
	return changed
}

// percent is how many of a tenant's chats are off: the larger one of its own setting and
// everybody's.
func (st state) percent(all, own string) int { return max(st[all].Percent, st[own].Percent) }
