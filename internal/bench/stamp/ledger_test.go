package stamp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/bench/stamp"
)

func add(l *stamp.Ledger, ns ...uint64) {
	for _, n := range ns {
		l.Add(n)
	}
}

func replace(l *stamp.Ledger, ns ...uint64) {
	l.Begin()
	for _, n := range ns {
		l.AddSnapshot(n)
	}
	l.Replace()
}

func TestTheLedgerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ns   []uint64
		want stamp.Counts // of 5
	}{
		{"all", []uint64{1, 2, 3, 4, 5}, stamp.Counts{Expected: 5, Delivered: 5}},
		{"nothing", nil, stamp.Counts{Expected: 5, Missing: 5}},
		{"lost in the midst", []uint64{1, 2, 4, 5}, stamp.Counts{Expected: 5, Delivered: 4, Missing: 1}},
		{"lost at the begin", []uint64{3, 4, 5}, stamp.Counts{Expected: 5, Delivered: 3, Missing: 2}},
		{"lost at the end", []uint64{1, 2, 3}, stamp.Counts{Expected: 5, Delivered: 3, Missing: 2}},
		{"doubled", []uint64{1, 2, 2, 3, 4, 5, 1}, stamp.Counts{Expected: 5, Delivered: 5, Doubled: 2}},
		{"swapped", []uint64{1, 3, 2, 4, 5}, stamp.Counts{Expected: 5, Delivered: 5, OutOfOrder: 1}},
		{"backwards", []uint64{5, 4, 3, 2, 1}, stamp.Counts{Expected: 5, Delivered: 5, OutOfOrder: 4}},
		{"the midst of a hole last", []uint64{1, 5, 3, 2, 4}, stamp.Counts{Expected: 5, Delivered: 5, OutOfOrder: 3}},
		{"swapped and doubled", []uint64{2, 1, 2, 5, 3, 3}, stamp.Counts{Expected: 5, Delivered: 4, Missing: 1, Doubled: 2, OutOfOrder: 2}},
		{"never sent", []uint64{1, 2, 3, 4, 5, 6}, stamp.Counts{Expected: 5, Delivered: 5, Doubled: 1}},
	} {
		var l stamp.Ledger
		add(&l, c.ns...)
		require.Equal(t, c.want, l.Counts(5), c.name)
		require.Equal(t, c.name == "all", l.Counts(5).Whole(), c.name)
	}
}

func TestASnapshotReplacesWhatIsHeld(t *testing.T) {
	t.Parallel()
	var l stamp.Ledger
	add(&l, 1, 4) // 2 and 3 are missing
	replace(&l, 1, 2, 3, 4)
	add(&l, 5)
	require.Equal(t, stamp.Counts{Expected: 5, Delivered: 5}, l.Counts(5))
	require.EqualValues(t, 1, l.Snapshots())

	replace(&l, 1, 2, 4, 5) // misses what was there
	require.EqualValues(t, 1, l.Counts(5).Missing)
	replace(&l, 1, 2) // is older than what was there
	add(&l, 6)
	require.EqualValues(t, 3, l.Counts(6).Missing)
	replace(&l, 2, 3)
	require.EqualValues(t, 1, l.Counts(3).Missing, "it begins with 1")
	replace(&l, 1, 1, 2)
	require.EqualValues(t, 1, l.Counts(2).Doubled)
	replace(&l, 2, 1)
	require.EqualValues(t, 1, l.Counts(2).OutOfOrder)
	replace(&l)
	require.EqualValues(t, 1, l.Next())
}

func TestASnapshotThatBrokeOffReplacesNothing(t *testing.T) {
	t.Parallel()
	var l stamp.Ledger
	add(&l, 1, 2)
	l.Begin()
	l.AddSnapshot(1)
	require.EqualValues(t, 3, l.Next())
	add(&l, 3) // the observer came back with its cursor
	require.True(t, l.Counts(3).Whole())
}

func TestACursorIsWhereTheAccountBegins(t *testing.T) {
	t.Parallel()
	l := stamp.From(100)
	require.EqualValues(t, 101, l.Next())
	require.True(t, l.Counts(100).Whole())
	add(&l, 101, 102)
	require.Equal(t, stamp.Counts{Expected: 2, Delivered: 2}, l.Counts(102))
	add(&l, 100)
	require.EqualValues(t, 1, l.Counts(102).Doubled)
	replace(&l, 1, 2)
	require.Equal(t, stamp.Counts{Expected: 2, Delivered: 2, Doubled: 1}, l.Counts(2))
}

func TestGapsAreRememberedWithinBounds(t *testing.T) {
	t.Parallel()
	var l stamp.Ledger
	for n := uint64(2); n <= 20_000; n += 2 {
		l.Add(n)
	}
	require.EqualValues(t, 10_000, l.Counts(20_000).Missing)
	l.Add(1)
	require.EqualValues(t, 9_999, l.Counts(20_000).Missing)
	require.EqualValues(t, 1, l.Counts(20_000).OutOfOrder)
}
