package subjects_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

func TestNoTenantHasTheSwitchOfAll(t *testing.T) {
	t.Parallel()
	seen := map[string]string{subjects.SwitchAllKey: "all"}
	for _, tenant := range []string{"", "all", "=all", "_", "_3Dall", "*", ">", "a.b", "a_b", "é", "e\u0301", "\x00", "\xff", strings.Repeat("=", 256)} {
		key, err := subjects.SwitchKey(tenant)
		require.NoError(t, err)
		require.Empty(t, seen[key], "%q has the key of %s", tenant, seen[key])
		seen[key] = tenant + "."
		require.NotContains(t, strings.TrimPrefix(key, "switch."), ".")
		require.NotContains(t, key, "*")
		back, all, err := subjects.ParseSwitchKey(key)
		require.NoError(t, err)
		require.False(t, all)
		require.Equal(t, tenant, back)
		for _, subject := range []string{subjects.KeySubject(key), strings.TrimSuffix(subjects.SwitchChangesSubject, "switch.*") + key} {
			got, ok := subjects.KeyOfSubject(subject)
			require.True(t, ok)
			require.Equal(t, key, got)
		}
	}
	_, all, err := subjects.ParseSwitchKey(subjects.SwitchAllKey)
	require.NoError(t, err)
	require.True(t, all)
	_, err = subjects.SwitchKey(strings.Repeat("a", 257))
	require.ErrorIs(t, err, subjects.ErrTooLong)
	for _, wrong := range []string{"", "switch", "switch.", "run.x", "switch.=other", "switch.a.b", "switch._3"} {
		_, _, err := subjects.ParseSwitchKey(wrong)
		require.ErrorIs(t, err, subjects.ErrToken, wrong)
	}
	_, ok := subjects.KeyOfSubject("rejoin.run.0.x")
	require.False(t, ok)
}
