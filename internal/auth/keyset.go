package auth

import (
	"fmt"
	"slices"
	"strings"
)

// keyset is the keys of one document. It is never changed.
type keyset struct {
	named   bool // every token must name its key
	keys    []*key
	skipped []string // why some keys of the document are not used
	plain   int      // how long the document is in bytes where it is a secret by itself, else 0
}

// newKeyset checks the bounds of a set that has all its keys.
func newKeyset(named bool, keys []*key, skipped []string) (*keyset, error) {
	most := maxKeys
	if !named {
		most = maxUnnamed
	}
	if len(keys) > most {
		return nil, fmt.Errorf("%w: there are %d, allowed are up to %d", ErrKeys, len(keys), most)
	}
	if len(keys) == 0 && len(skipped) > 0 {
		return nil, fmt.Errorf("%w: none of them can be used: %s", ErrKeys, strings.Join(skipped, "; "))
	}
	return &keyset{named: named, keys: keys, skipped: skipped}, nil
}

// candidates are the keys that may have signed a token with this name of a key, "" for
// none, and this algorithm. known says whether there is a key of that name at all.
func (s *keyset) candidates(id, alg string) (keys []*key, known bool) {
	for _, k := range s.keys {
		if s.named && k.id != id {
			continue
		}
		known = true
		if k.alg == alg {
			keys = append(keys, k)
		}
	}
	return keys, known
}

// has says whether the key of this print is in the set.
func (s *keyset) has(print string) bool {
	return slices.ContainsFunc(s.keys, func(k *key) bool { return k.print == print })
}

// same says whether two sets have the same keys under the same names.
func (s *keyset) same(o *keyset) bool {
	return o != nil && s.named == o.named && slices.EqualFunc(s.keys, o.keys, func(a, b *key) bool {
		return a.id == b.id && a.print == b.print
	})
}

// ids are the names of the keys, for the log.
func (s *keyset) ids() []string {
	ids := make([]string, len(s.keys))
	for i, k := range s.keys {
		ids[i] = k.id
	}
	return ids
}
