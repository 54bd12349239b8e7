package probe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

const run = subjects.RunID("0-0000000000000000000000000g")

var twelve = plan{nonce: "n", n: 12}

// joinedTo is the snapshot of the run's first seq events with every delta joined.
func joinedTo(seq uint64) string {
	var lines []string
	text := ""
	flush := func() {
		if text != "" {
			lines = append(lines, `{"type":"TEXT_MESSAGE_CONTENT", "messageId":"n","delta":"`+text+`"}`)
			text = ""
		}
	}
	for i := uint64(1); i <= seq; i++ {
		if d := twelve.delta(i); d != "" {
			text += strings.Replace(d, "éé", `é\u00e9`, 1)
			continue
		}
		flush()
		lines = append(lines, string(twelve.event(i)))
	}
	flush()
	return strings.Join(lines, "\n")
}

func TestSnapshotsThatAreRight(t *testing.T) {
	t.Parallel()
	for seq := range twelve.n + 1 {
		require.NoError(t, twelve.checkSnapshot(seq, []byte(joinedTo(seq))), seq)
		require.NoError(t, twelve.checkSnapshot(seq, twelve.lines(1, seq)), "nothing joined")
	}
	apart := joinedTo(6) + "\n" + string(twelve.event(7)) + "\n" + strings.ReplaceAll(string(twelve.event(8)), "8 ", "8 ")
	require.NoError(t, twelve.checkSnapshot(8, []byte(apart)), "segments may stay apart")
}

func TestSnapshotsThatAreWrong(t *testing.T) {
	t.Parallel()
	good := joinedTo(8)
	for says, bad := range map[string]struct {
		seq    uint64
		events string
	}{
		"holds 7 events":             {8, joinedTo(7)},
		"text goes on with":          {8, strings.Replace(good, "5 é", "4 é", 1)},
		"seq 8 holds more":           {8, joinedTo(8) + "\n" + string(twelve.event(9))},
		"wrong at event 2":           {8, strings.Replace(good, "assistant", "user", 1)},
		"stands where":               {8, strings.Replace(good, `"messageId":"n","delta"`, `"messageId":"m","delta"`, 1)},
		"holds 0 events":             {8, ""},
		"seq 13 of a run of 12":      {13, joinedTo(12)},
		"wrong at event 1":           {8, "{"},
		"with seq 8 holds 2 events":  {8, joinedTo(2)},
		"snapshot with seq 12 is":    {12, strings.Replace(joinedTo(12), "RUN_FINISHED", "RUN_ERROR", 1)},
		"wrong at event 3: its text": {8, strings.Replace(good, "3 é", "é", 1)},
		`where ""`:                   {12, strings.Replace(joinedTo(12), `10 é\u00e9 `, `10 é\u00e9 11 é\u00e9 `, 1)},
	} {
		require.ErrorContains(t, twelve.checkSnapshot(bad.seq, []byte(bad.events)), says)
	}
}

func snap(seq uint64) consumer.Frame {
	return consumer.Frame{Type: consumer.Snapshot, RunID: run, Seq: seq, Events: []byte(joinedTo(seq))}
}

func event(seq uint64) consumer.Frame {
	return consumer.Frame{Type: consumer.Event, RunID: run, Seq: seq, Event: twelve.event(seq)}
}

func end(seq uint64) consumer.Frame {
	return consumer.Frame{Type: consumer.End, RunID: run, Seq: seq, End: subjects.End{Persisted: true, Reason: subjects.ReasonDone}}
}

func synced(seq uint64) consumer.Frame {
	return consumer.Frame{Type: consumer.Synced, RunID: run, Seq: seq}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	lie := func(f consumer.Frame, spoil func(*consumer.Frame)) consumer.Frame {
		spoil(&f)
		return f
	}
	for _, c := range []struct {
		name   string
		from   *uint64
		frames []consumer.Frame
		says   string // of the last frame; "" for none
	}{
		{"from the start", nil, []consumer.Frame{snap(0), synced(0), event(1), event(2)}, ""},
		{"a snapshot in between", nil, []consumer.Frame{snap(2), event(3), snap(7), event(8), snap(12), end(12)}, ""},
		{"from a cursor", at(10), []consumer.Frame{event(11), event(12), end(12)}, ""},
		{"at the end", at(12), []consumer.Frame{end(12)}, ""},

		{"no snapshot", nil, []consumer.Frame{event(1)}, "want a snapshot"},
		{"a snapshot for a cursor", at(3), []consumer.Frame{snap(4)}, "gap threshold"},
		{"lost", nil, []consumer.Frame{snap(2), event(4)}, "event 4 after seq 2: 1 lost"},
		{"lost behind a cursor", at(5), []consumer.Frame{event(7)}, "1 lost"},
		{"repeated", nil, []consumer.Frame{snap(2), event(3), event(3)}, "a repetition"},
		{"repeated behind a cursor", at(5), []consumer.Frame{event(5)}, "a repetition"},
		{"renumbered", nil, []consumer.Frame{snap(2), lie(event(4), func(f *consumer.Frame) { f.Seq = 3 })}, "published was"},
		{"too many", nil, []consumer.Frame{snap(12), lie(event(1), func(f *consumer.Frame) { f.Seq = 13 })}, "of a run of 12"},
		{"a snapshot that goes back", nil, []consumer.Frame{snap(5), snap(4)}, "goes back"},
		{"an end too soon", nil, []consumer.Frame{snap(11), end(11)}, "after 11 of 12"},
		{"an end that is ahead", nil, []consumer.Frame{snap(11), end(12)}, "seq 12 after seq 11"},
		{"not saved", nil, []consumer.Frame{snap(12), lie(end(12), func(f *consumer.Frame) { f.End.Persisted = false })}, "persisted:false"},
		{"superseded", nil, []consumer.Frame{snap(12), lie(end(12), func(f *consumer.Frame) { f.End.Superseded = true })}, "superseded:true"},
		{"another reason", nil, []consumer.Frame{snap(12), lie(end(12), func(f *consumer.Frame) { f.End.Reason = "error" })}, `reason:"error"`},
		{"another run", nil, []consumer.Frame{lie(snap(1), func(f *consumer.Frame) { f.RunID = "x" })}, "of the run"},
		{"synced elsewhere", nil, []consumer.Frame{snap(1), synced(2)}, "after seq 1"},
	} {
		l := ledger{plan: &twelve, run: run}
		if c.from != nil {
			l.seq, l.cursor = *c.from, true
		}
		for i, f := range c.frames {
			err := l.apply(fmt.Sprintf("%s:%d", f.RunID, f.Seq), &f)
			if c.says == "" || i+1 < len(c.frames) {
				require.NoError(t, err, c.name)
			} else {
				require.ErrorContains(t, err, c.says, c.name)
			}
		}
	}
}

func TestLedgerChecksIdsAndIsBounded(t *testing.T) {
	t.Parallel()
	l := ledger{plan: &twelve, run: run}
	f := snap(1)
	require.ErrorContains(t, l.apply("", &f), "with the id")
	require.ErrorContains(t, l.apply(string(run)+":2", &f), "with the id")
	for _, f := range []consumer.Frame{snap(1), synced(1)} {
		l := ledger{plan: &twelve, run: run, seq: 1, cursor: true, begun: true}
		for range maxOthers {
			require.NoError(t, l.apply(string(run)+":1", &f))
		}
		require.Error(t, l.apply(string(run)+":1", &f))
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{}, {URL: "x", Events: 11}, {URL: "x", Events: MaxEvents + 1}, {URL: "x", Rate: -1}, {URL: "x", Patience: -1},
		{URL: "x", After: []time.Duration{-1}}} {
		require.ErrorIs(t, Run(t.Context(), c, nil), ErrConfig)
	}
}
