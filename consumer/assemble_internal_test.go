package consumer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

func events(last uint64, count int, body string) subjects.Record {
	return subjects.Record{Kind: subjects.KindEvents, Last: last, Count: count, Writer: "w", Body: []byte(body)}
}

// part is a part of the event after seq.
func part(seq uint64, n, of int, body string) subjects.Record {
	r := subjects.Record{Kind: subjects.KindPart, Last: seq, Part: n, Parts: of, Writer: "w", Body: []byte(body)}
	if n == of {
		r.Last, r.Count = seq+1, 1
	}
	return r
}

func by(writer string, r subjects.Record) subjects.Record {
	r.Writer = writer
	return r
}

func TestAssembler(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records []subjects.Record
		want    []string // of each record: its events, "" for none, "!" for broken
	}{
		"whole events": {[]subjects.Record{events(1, 1, "a"), events(3, 2, "b\nc")}, []string{"a", "b\nc"}},
		"no events": {[]subjects.Record{{Kind: subjects.KindStart}, {Kind: subjects.KindTakeover, Last: 3}, {Kind: subjects.KindEnd, Last: 3}},
			[]string{"", "", ""}},
		"parts":                {[]subjects.Record{part(0, 1, 3, "a"), part(0, 2, 3, "b"), part(0, 3, 3, "c")}, []string{"", "", "abc"}},
		"one part":             {[]subjects.Record{part(4, 1, 1, "a")}, []string{"a"}},
		"begun anew":           {[]subjects.Record{part(0, 1, 2, "a"), part(0, 1, 2, "b"), part(0, 2, 2, "c")}, []string{"", "", "bc"}},
		"begun anew by others": {[]subjects.Record{part(0, 1, 2, "a"), by("v", part(0, 1, 2, "b")), by("v", part(0, 2, 2, "c"))}, []string{"", "", "bc"}},

		"the first is missing":     {[]subjects.Record{part(0, 2, 3, "b"), part(0, 3, 3, "c")}, []string{"!", "!"}},
		"one is missing":           {[]subjects.Record{part(0, 1, 3, "a"), part(0, 3, 3, "c")}, []string{"", "!"}},
		"one comes twice":          {[]subjects.Record{part(0, 1, 3, "a"), part(0, 2, 3, "b"), part(0, 2, 3, "b")}, []string{"", "", "!"}},
		"another writer's":         {[]subjects.Record{part(0, 1, 2, "a"), by("v", part(0, 2, 2, "b"))}, []string{"", "!"}},
		"another event's":          {[]subjects.Record{part(0, 1, 2, "a"), part(1, 2, 2, "b")}, []string{"", "!"}},
		"of another number":        {[]subjects.Record{part(0, 1, 2, "a"), part(0, 2, 3, "b")}, []string{"", "!"}},
		"after other events":       {[]subjects.Record{part(0, 1, 2, "a"), events(1, 1, "x"), part(0, 2, 2, "b")}, []string{"", "x", "!"}},
		"after a takeover":         {[]subjects.Record{part(0, 1, 2, "a"), {Kind: subjects.KindTakeover}, part(0, 2, 2, "b")}, []string{"", "", "!"}},
		"more than the log keeps":  {[]subjects.Record{part(0, 1, subjects.MaxRecordsPerRun+1, "a")}, []string{"!"}},
		"as many as the log keeps": {[]subjects.Record{part(0, 1, subjects.MaxRecordsPerRun, "a")}, []string{""}},
		"more than one event":      {[]subjects.Record{part(0, 1, 2, "a"), part(0, 2, 2, "\nb")}, []string{"", "!"}},
		"fewer events":             {[]subjects.Record{events(2, 2, "a")}, []string{"!"}},
		"more events":              {[]subjects.Record{events(1, 1, "a\nb")}, []string{"!"}},
		"none":                     {[]subjects.Record{events(1, 1, "")}, []string{"!"}},
		"blank in front":           {[]subjects.Record{events(2, 2, "\na")}, []string{"!"}},
		"blank behind":             {[]subjects.Record{events(2, 2, "a\n")}, []string{"!"}},
		"blank between":            {[]subjects.Record{events(3, 3, "a\n\nb")}, []string{"!"}},
	} {
		var a assembler
		for i, r := range c.records {
			b, ok, broken := a.add(&r, uint64(i))
			switch want := c.want[i]; want {
			case "", "!":
				require.False(t, ok, "%s: %d", name, i)
				require.Equal(t, want == "!", broken, "%s: %d", name, i)
			default:
				require.True(t, ok && !broken, "%s: %d", name, i)
				require.Equal(t, block{r.Prev() + 1, r.Last, []byte(want), uint64(i)}, b, "%s: %d", name, i)
			}
		}
	}
}

func TestBlockAfter(t *testing.T) {
	t.Parallel()
	b := block{first: 5, last: 7, body: []byte("a\nb\nc")}
	for seq, want := range map[uint64]string{3: "a\nb\nc", 4: "a\nb\nc", 5: "b\nc", 6: "c", 7: "", 9: ""} {
		require.Equal(t, want, string(b.after(seq)), "after %d", seq)
	}
	first := block{first: 1, last: 1, body: []byte("a")}
	require.Equal(t, "a", string(first.after(0)))
}
