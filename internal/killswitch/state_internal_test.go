package killswitch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Replicas lag and messages overtake answers: whatever the order, the newest counts, and
// what was deleted by hand stays so.
func TestAStateNeverGoesBack(t *testing.T) {
	t.Parallel()
	key, err := subjects.SwitchKey("a")
	require.NoError(t, err)
	old := runs.Switch{Key: key, Value: []byte(`{"percent":50}`), Revision: 5}
	st := state{}
	require.Len(t, st.merge(old), 1)
	require.Empty(t, st.merge(old))
	require.Len(t, st.merge(runs.Switch{Key: key, Revision: 9}), 1)
	require.Empty(t, st.merge(old))
	require.Zero(t, st.percent(subjects.SwitchAllKey, key))
	require.Empty(t, st.forget(key, 5))
	require.Equal(t, map[string]uint64{key: 9}, st.missing(nil))
	require.Empty(t, st.missing([]runs.Switch{old}))
	require.Empty(t, st.forget(key, 9), "what is gone was on")
	require.Len(t, st.merge(old), 1)
	require.Len(t, st.forget(key, 5), 1)
	require.Empty(t, st)
}
