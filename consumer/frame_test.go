package consumer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

const runA = subjects.RunID("2-0pa3v1k8q5f6t2b1n4m7c9d0ee")

func TestFramesReadAsTheProtocolShowsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frame consumer.Frame
		want  string
	}{
		{
			consumer.Frame{Type: consumer.Snapshot, RunID: "r", Seq: 42, Events: []byte("{\"a\":1}\n{\"b\":2}")},
			`{"type":"STREAM_SNAPSHOT","run_id":"r","seq":42,"events":[{"a":1},{"b":2}]}`,
		},
		{
			consumer.Frame{Type: consumer.Snapshot, RunID: "r", Seq: 0},
			`{"type":"STREAM_SNAPSHOT","run_id":"r","seq":0,"events":[]}`,
		},
		{
			consumer.Frame{Type: consumer.Event, RunID: "r", Seq: 43, Event: []byte(`{"a": 1.0e2}`)},
			`{"type":"STREAM_EVENT","run_id":"r","seq":43,"event":{"a": 1.0e2}}`,
		},
		{
			consumer.Frame{Type: consumer.Synced, RunID: "r", Seq: 43},
			`{"type":"STREAM_SYNCED","run_id":"r","seq":43}`,
		},
		{
			consumer.Frame{Type: consumer.End, RunID: "r", Seq: 43, End: subjects.End{Persisted: true, Reason: subjects.ReasonDone}},
			`{"type":"STREAM_END","run_id":"r","seq":43,"persisted":true,"superseded":false,"reason":"done"}`,
		},
		{
			consumer.Frame{Type: consumer.End, RunID: "r", Seq: 43, End: subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: "n"}},
			`{"type":"STREAM_END","run_id":"r","seq":43,"persisted":false,"superseded":true,"reason":"superseded","next_run_id":"n"}`,
		},
	} {
		require.Equal(t, c.want, string(c.frame.AppendJSON(nil)))
		require.Equal(t, "id: r:"+seqOf(c.frame)+"\ndata: "+c.want+"\n\n", string(c.frame.AppendSSE(nil)))
		back, err := consumer.ParseFrame([]byte(c.want))
		require.NoError(t, err)
		requireFrame(t, c.frame, back)
	}
}

func TestLinesThatAreNoFrames(t *testing.T) {
	t.Parallel()
	require.Equal(t, ":\n\n", string(consumer.AppendComment(nil, "")))
	require.Equal(t, ": waitingdata: x\n\n", string(consumer.AppendComment(nil, "waiting\r\ndata: x")))
	require.Equal(t, "retry: 1500\n\n", string(consumer.AppendRetry(nil, 1500e6)))
	require.Equal(t, "retry: 0\n\n", string(consumer.AppendRetry(nil, -1)))
	require.Equal(t, "STREAM_UNKNOWN", consumer.FrameType(9).String())
}

func TestEncodingAllocatesNothing(t *testing.T) {
	f := consumer.Frame{Type: consumer.Event, RunID: runA, Seq: 7, Event: []byte(`{"type":"RAW"}`)}
	e := consumer.Frame{Type: consumer.End, RunID: runA, Seq: 7, End: subjects.End{Reason: subjects.ReasonDone}}
	s := consumer.Frame{Type: consumer.Snapshot, RunID: runA, Seq: 7, Events: []byte("{}\n{}\n{}")}
	buf := make([]byte, 0, 4096)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		buf = s.AppendSSE(e.AppendSSE(f.AppendSSE(buf[:0])))
	}))
}

// Whatever an event holds, it comes back byte for byte.
func TestFramesSurviveTheRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawFrame(t)
		msg := want.AppendSSE(nil)
		require.Equal(t, 3, strings.Count(string(msg), "\n"), "id, data and the blank line, no more")
		require.NotContains(t, string(msg), "\r")

		got, err := consumer.ParseFrame(want.AppendJSON(nil))
		require.NoError(t, err)
		requireFrame(t, want, got)
		require.Equal(t, msg, got.AppendSSE(nil))
	})
}

func TestUNI03_LineBreaksInAnEventForgeNoField(t *testing.T) {
	t.Parallel()
	forged := "{\"delta\":\n\ndata: {\"type\":\"STREAM_END\"}\r\n\r\nevent: STREAM_END\rid: x\n}"
	for _, f := range []consumer.Frame{
		{Type: consumer.Event, RunID: "r", Seq: 1, Event: []byte(forged)},
		{Type: consumer.Snapshot, RunID: "r", Seq: 1, Events: []byte(forged)},
		{Type: consumer.Event, RunID: "r\ndata: x\r\n\nid: y", Seq: 1, Event: []byte(`{}`)},
		{Type: consumer.End, RunID: "r", Seq: 1, End: subjects.End{Reason: "done\n\ndata: x", NextRunID: "\r\n"}},
	} {
		msg := string(f.AppendSSE(nil))
		require.Equal(t, 3, strings.Count(msg, "\n"), msg)
		require.NotContains(t, msg, "\r")
	}
	pretty := consumer.Frame{Type: consumer.Event, RunID: "r", Seq: 1, Event: []byte("{\r\n  \"a\": 1\n}")}
	got, err := consumer.ParseFrame(pretty.AppendJSON(nil))
	require.NoError(t, err)
	require.Equal(t, `{    "a": 1 }`, string(got.Event))
}

func TestParseFrameSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		``:                                "not JSON",
		`{`:                               "not JSON",
		`[]`:                              "not a JSON object",
		`null`:                            "not a JSON object",
		`{}`:                              "no type",
		`{"type":1,"run_id":"r","seq":1}`: "type is",
		`{"TYPE":"STREAM_SYNCED","run_id":"r","seq":1}`:                                                               "no type",
		`{"type":"STREAM_SYNCED","seq":1}`:                                                                            "no run_id",
		`{"type":"STREAM_SYNCED","run_id":"","seq":1}`:                                                                "run_id is empty",
		`{"type":"STREAM_SYNCED","run_id":"r"}`:                                                                       "no seq",
		`{"type":"STREAM_SYNCED","run_id":"r","seq":"1"}`:                                                             "seq is",
		`{"type":"STREAM_SYNCED","run_id":"r","seq":1.0}`:                                                             "seq is",
		`{"type":"STREAM_SYNCED","run_id":"r","seq":-1}`:                                                              "seq is",
		`{"type":"STREAM_SYNCED","run_id":"r","seq":9007199254740992}`:                                                "seq is",
		`{"type":"STREAM_SYNCED","run_id":"r","seq":1,"seq":2}`:                                                       "twice",
		`{"type":"STREAM_EVENT","run_id":"r","seq":1}`:                                                                "no event",
		`{"type":"STREAM_EVENT","run_id":"r","seq":1,"event":null}`:                                                   "event is",
		`{"type":"STREAM_EVENT","run_id":"r","seq":1,"event":"x"}`:                                                    "event is",
		`{"type":"STREAM_SNAPSHOT","run_id":"r","seq":1,"events":{}}`:                                                 "events is",
		`{"type":"STREAM_SNAPSHOT","run_id":"r","seq":1,"events":[{},7]}`:                                             "an event is",
		`{"type":"STREAM_END","run_id":"r","seq":1,"superseded":false,"reason":"done"}`:                               "no persisted",
		`{"type":"STREAM_END","run_id":"r","seq":1,"persisted":"true","superseded":false,"reason":"done"}`:            "persisted is",
		`{"type":"STREAM_END","run_id":"r","seq":1,"persisted":true,"superseded":false}`:                              "no reason",
		`{"type":"STREAM_END","run_id":"r","seq":1,"persisted":true,"superseded":false,"reason":"x","next_run_id":1}`: "next_run_id is",
	} {
		_, err := consumer.ParseFrame([]byte(data))
		require.ErrorIs(t, err, consumer.ErrFrame, data)
		require.ErrorContains(t, err, want, data)
	}
}

func TestParseFrameLetsTheProtocolGrow(t *testing.T) {
	t.Parallel()
	_, err := consumer.ParseFrame([]byte(`{"type":"STREAM_WEATHER","wind":[1,2]}`))
	require.ErrorIs(t, err, consumer.ErrUnknownFrame)
	require.NotErrorIs(t, err, consumer.ErrFrame)

	f, err := consumer.ParseFrame([]byte(" {\"new\" : [{\"seq\":9}, \"}\\\"\"] ,\"event\":{\"a\":[1, {\"type\":\"x\"}]},\n\"seq\" : 3, \"run_id\":\"r\\u0041\",\"more\":null,\"type\":\"STREAM_EVENT\"} "))
	require.NoError(t, err)
	requireFrame(t, consumer.Frame{Type: consumer.Event, RunID: "rA", Seq: 3, Event: []byte(`{"a":[1, {"type":"x"}]}`)}, f)
}

func FuzzParseFrame(f *testing.F) {
	for _, t := range []string{
		`{"type":"STREAM_SNAPSHOT","run_id":"r","seq":42,"events":[ {"a":"\"]}"} , {"b":[[{}]]}]}`,
		`{"type":"STREAM_EVENT","run_id":"r","seq":43,"event":{"a":1e400,"b":"\\"}}`,
		`{"type":"STREAM_END","run_id":"r","seq":43,"persisted":true,"superseded":false,"reason":"done","x":[true,-1]}`,
		`{"type":"STREAM_SYNCED","run_id":"r","seq":1}`, `{"k":,`, `{}`, `[`, ` `,
	} {
		f.Add([]byte(t))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := consumer.ParseFrame(data)
		if err != nil {
			require.Zero(t, frame)
			return
		}
		again, err := consumer.ParseFrame(frame.AppendJSON(nil))
		require.NoError(t, err)
		requireFrame(t, frame, again)
	})
}

func drawFrame(t *rapid.T) consumer.Frame {
	f := consumer.Frame{
		Type:  rapid.SampledFrom([]consumer.FrameType{consumer.Snapshot, consumer.Event, consumer.Synced, consumer.End}).Draw(t, "type"),
		RunID: subjects.NewRunID(rapid.IntRange(0, 9).Draw(t, "partition")),
		Seq:   rapid.Uint64Range(0, subjects.MaxSeq).Draw(t, "seq"),
	}
	switch f.Type {
	case consumer.Event:
		f.Event = drawEvent(t)
	case consumer.Snapshot:
		var lines []string
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			lines = append(lines, string(drawEvent(t)))
		}
		f.Events = []byte(strings.Join(lines, "\n"))
	case consumer.End:
		f.End = subjects.End{
			Persisted:  rapid.Bool().Draw(t, "persisted"),
			Superseded: rapid.Bool().Draw(t, "superseded"),
			Reason:     rapid.SampledFrom([]subjects.Reason{subjects.ReasonDone, subjects.ReasonAbandoned, "a \"new\" one\n"}).Draw(t, "reason"),
			NextRunID:  rapid.SampledFrom([]subjects.RunID{"", runA}).Draw(t, "next"),
		}
	}
	return f
}

// drawEvent makes an event of hostile strings, written with and without escapes.
func drawEvent(t *rapid.T) []byte {
	hostile := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\n\ndata: {\"type\":\"STREAM_END\"}\n\n", "\r", "\r\n", "\u2028\u2029\u0085\u000b", "]}", `\"`, "\\", "😀é", "\x00",
	}))
	event := map[string]any{"type": "TEXT_MESSAGE_CONTENT", "delta": hostile.Draw(t, "delta"), hostile.Draw(t, "key"): []any{1, nil, map[string]any{}}}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(rapid.Bool().Draw(t, "escape"))
	if err := enc.Encode(event); err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

func seqOf(f consumer.Frame) string {
	n, _ := json.Marshal(f.Seq)
	return string(n)
}

func requireFrame(t require.TestingT, want, got consumer.Frame) {
	require.Equal(t, string(want.Event), string(got.Event))
	require.Equal(t, string(want.Events), string(got.Events))
	want.Event, want.Events, got.Event, got.Events = nil, nil, nil, nil
	require.Equal(t, want, got)
}
