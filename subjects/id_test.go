package subjects_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

func TestCUR04_RunIDsAreUniqueAndSorted(t *testing.T) {
	t.Parallel()
	const each, minters = 2000, 8
	lists := make([][]subjects.RunID, minters)
	var wg sync.WaitGroup
	for i := range lists {
		wg.Go(func() {
			for range each {
				lists[i] = append(lists[i], subjects.NewRunID(3))
			}
		})
	}
	wg.Wait()
	seen := map[subjects.RunID]bool{}
	for _, ids := range lists {
		require.True(t, slices.IsSorted(ids))
		for _, id := range ids {
			require.False(t, seen[id])
			seen[id] = true
		}
	}
}

func TestRunIDCarriesItsPartition(t *testing.T) {
	t.Parallel()
	for _, p := range []int{0, 1, 9, 10, 255} {
		id := subjects.NewRunID(p)
		require.Equal(t, p, id.Partition())
		got, err := subjects.ParseRunID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, got)
		require.Regexp(t, keySafe, id.String())
		back, err := subjects.RunOfSubject(subjects.RunSubject(id))
		require.NoError(t, err)
		require.Equal(t, id, back)
		back, err = subjects.RunOfSubject(subjects.LiveSubject(id))
		require.NoError(t, err)
		require.Equal(t, id, back)
		for _, key := range []string{subjects.SegmentKey(id, 7), subjects.SegmentPartKey(id, 7, "w", 2)} {
			back, err = subjects.RunOfSegmentSubject(subjects.KeySubject(key))
			require.NoError(t, err)
			require.Equal(t, id, back)
		}
	}
	require.Panics(t, func() { subjects.NewRunID(-1) })
	require.Panics(t, func() { subjects.NewRunID(subjects.MaxPartitions) })
}

func TestParseRunIDRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	good := string(subjects.NewRunID(2))
	for _, s := range []string{"", "x", "2", "2-", good[2:], "02" + good[1:], "+2" + good[1:], "256" + good[1:], "-1" + good[1:],
		good + "0", good[:len(good)-1], strings.ToUpper(good), good[:10] + "." + good[11:], good[:10] + "*" + good[11:], good[:len(good)-1] + "1"} {
		if s == good {
			continue
		}
		_, err := subjects.ParseRunID(s)
		require.ErrorIs(t, err, subjects.ErrRunID, "%q", s)
	}
}

func FuzzParseRunID(f *testing.F) {
	f.Add(string(subjects.NewRunID(0)))
	f.Add("0-zzzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := subjects.ParseRunID(s)
		if err != nil {
			return
		}
		if string(id) != s || !keySafe.MatchString(s) || id.Partition() < 0 {
			t.Fatalf("%q accepted as %q in partition %d", s, id, id.Partition())
		}
	})
}
