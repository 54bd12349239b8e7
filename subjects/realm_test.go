package subjects_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// Whatever tenants and users are called, no two pairs of them share a realm, and a realm
// is one harmless token.
func TestRealmsAreDistinct(t *testing.T) {
	t.Parallel()
	names := []string{"", "a", "A", "a.b", "a_b", "a=b", "=", "a=", "=a", "*", ">", "_", "é", "e\u0301", "a b", "\x00", strings.Repeat("x", subjects.MaxOutside)}
	seen := map[subjects.Realm]string{}
	keys := map[string]string{}
	for _, tenant := range names {
		for _, user := range names {
			pair := tenant + "\xff" + user
			r, err := subjects.NewRealm(tenant, user)
			require.NoError(t, err)
			require.NotContains(t, seen, r, "%q and %q", pair, seen[r])
			seen[r] = pair
			require.Equal(t, tenant, r.Tenant())
			require.Equal(t, user, r.User())
			require.Regexp(t, `^[-_=0-9A-Za-z]*$`, string(r))
			same, err := subjects.ParseRealm(string(r))
			require.NoError(t, err)
			require.Equal(t, r, same)
			for _, chat := range names[1:] {
				key, err := subjects.PointerKey(r, chat)
				require.NoError(t, err)
				require.NotContains(t, keys, key)
				keys[key] = pair
				require.Equal(t, 2, strings.Count(key, "."))
				require.Less(t, len(key), 4000)
			}
		}
	}
	_, err := subjects.NewRealm(strings.Repeat("x", subjects.MaxOutside+1), "")
	require.ErrorIs(t, err, subjects.ErrTooLong)
	_, err = subjects.NewRealm("", strings.Repeat("x", subjects.MaxOutside+1))
	require.ErrorIs(t, err, subjects.ErrTooLong)
	for _, s := range []string{"a.b", "=", "_", "=a", "a=", "a=_", "a=b=c", "_=_", "*", "a_", "a_2e"} {
		_, err := subjects.ParseRealm(s)
		require.Error(t, err, s)
	}
}
