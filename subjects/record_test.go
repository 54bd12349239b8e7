package subjects_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, r := range []subjects.Record{
		{Kind: subjects.KindStart, Writer: "w"},
		{Kind: subjects.KindEvents, Last: 42, Count: 3, Writer: "w", Body: []byte("{}\n{}\n{}")},
		{Kind: subjects.KindPart, Last: 41, Writer: "w", Part: 1, Parts: 2, Body: []byte(`{"a`)},
		{Kind: subjects.KindPart, Last: 42, Count: 1, Writer: "w", Part: 2, Parts: 2, Body: []byte(`":1}`)},
		{Kind: subjects.KindTakeover, Last: 42, Writer: "w2"},
		subjects.EndRecord(subjects.End{Reason: subjects.ReasonDone, Persisted: true}, 42, "w"),
		{Kind: subjects.KindEvents, Last: subjects.MaxSeq, Count: 1, Writer: "w"},
	} {
		m := r.Msg("s")
		got, err := subjects.ParseRecord(m.Header, m.Data)
		require.NoError(t, err)
		require.Equal(t, r, got)
		require.Equal(t, r.Last-uint64(r.Count), got.Prev())
	}
}

func TestParseRecordRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	_, err := subjects.ParseRecord(nil, nil)
	require.ErrorIs(t, err, subjects.ErrRecord)
	for _, h := range []string{
		"", "events", "events 1", "events 1 2 w", "events 1 0 w", "events -1 1 w", "events 1 -1 w", "events x 1 w",
		"start 1 1 w", "end 3 1 w", "takeover 3 1 w", "other 1 1 w", "events 9007199254740992 1 w",
		"part 1 1 w", "part 1 1 w 1/2", "part 1 0 w 2/2", "part 1 0 w 0/2", "part 1 0 w 3/2", "part 2 2 w 2/2", "part 1 0 w x/y",
	} {
		_, err := subjects.ParseRecord(nats.Header{subjects.RecordHeader: {h}}, nil)
		require.ErrorIs(t, err, subjects.ErrRecord, "%q", h)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add("events 42 3 w")
	f.Add("part 41 0 w 1/2")
	f.Fuzz(func(t *testing.T, h string) {
		r, err := subjects.ParseRecord(nats.Header{subjects.RecordHeader: {h}}, nil)
		if err != nil {
			return
		}
		again, err := subjects.ParseRecord(r.Msg("s").Header, nil)
		if err != nil || again.Last != r.Last || again.Kind != r.Kind || again.Part != r.Part || again.Prev() > again.Last {
			t.Fatalf("%q: %+v, then %+v, %v", h, r, again, err)
		}
	})
}

func TestSegmentsRoundTrip(t *testing.T) {
	t.Parallel()
	s := subjects.Segment{From: 1, To: 512, StreamSeq: 99, Writer: "w", Parts: 1}
	body := []byte("{\"type\":\"RAW\"}\n{\"type\":\"RAW\"}")
	got, gotBody, err := subjects.ParseSegment(subjects.AppendSegment(nil, s, body))
	require.NoError(t, err)
	require.Equal(t, s, got)
	require.Equal(t, body, gotBody)
	for _, bad := range []string{"", "{}", "{}\n", "x\n", `{"from":2,"to":1,"stream_seq":1,"parts":1}` + "\n", `{"from":1,"to":1,"stream_seq":0,"parts":1}` + "\n"} {
		_, _, err := subjects.ParseSegment([]byte(bad))
		require.ErrorIs(t, err, subjects.ErrSegment, "%q", bad)
	}
}

func TestReasonsAProducerMayGive(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]subjects.Reason{"": "done", "done": "done", "error": "error", "stopped": "stopped", "skipped": "skipped", "save_failed": "save_failed"} {
		got, err := subjects.ParseReason(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, s := range []string{"abandoned", "superseded", "Done", "x\x00"} {
		_, err := subjects.ParseReason(s)
		require.ErrorContains(t, err, "none of done, error, stopped, skipped, save_failed")
	}
}
