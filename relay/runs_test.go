package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSnapshotForPollers(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	path := "/runs/" + r.id() + "/snapshot"
	a := f.do(http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, fmt.Sprintf(`{"run_id":%q,"seq":0,"events":[],"end":null}`, r.id()), a.body)
	require.Equal(t, fmt.Sprintf(`"%s:0"`, r.id()), a.header.Get("ETag"))

	r.publish(runStarted, delta(1), delta(2))
	r.checkpoint()
	r.publish(`{"type":"RAW","event":"<&>"}`)
	a = f.do(http.MethodGet, path, "", "If-None-Match", a.header.Get("ETag"))
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, fmt.Sprintf(`{"run_id":%q,"seq":4,"events":[%s,%s,%s],"end":null}`+"\n", r.id(),
		runStarted, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"1 2 "}`, `{"type":"RAW","event":"<&>"}`), a.body)
	tag := a.header.Get("ETag")
	require.Equal(t, fmt.Sprintf(`"%s:4"`, r.id()), tag)
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		same := f.do(http.MethodGet, path, "", "If-None-Match", header)
		require.Equal(t, http.StatusNotModified, same.status, header)
		require.Equal(t, tag, same.header.Get("ETag"))
		require.Empty(t, same.body)
	}

	r.finish(failed)
	a = f.do(http.MethodGet, path, "", "If-None-Match", tag)
	require.Equal(t, http.StatusOK, a.status, "the end is a change")
	ended := fmt.Sprintf(`"%s:4:end"`, r.id())
	require.Equal(t, ended, a.header.Get("ETag"))
	require.True(t, strings.HasSuffix(a.body, `"end":{"persisted":false,"superseded":false,"reason":"save_failed"}}`+"\n"), a.body)
	require.Equal(t, http.StatusNotModified, f.do(http.MethodGet, path, "", "If-None-Match", ended).status)

	r.evict()
	require.Equal(t, http.StatusNotFound, f.do(http.MethodGet, path, "", "If-None-Match", ended).status)
}

func TestLargeSnapshotForPollers(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	var want []string
	for i := range 40 {
		e := fmt.Sprintf(`{"type":"CUSTOM","name":"n%d","value":%q}`, i, long(50_000+i))
		r.publish(e)
		want = append(want, e)
	}
	a := f.do(http.MethodGet, "/runs/"+r.id()+"/snapshot", "")
	var got struct{ Events []json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(a.body), &got))
	require.Len(t, got.Events, len(want))
	for i := range want {
		require.Equal(t, want[i], string(got.Events[i]))
	}
	o := f.live(`{"chat_id":"c","protocol":1}`)
	require.Equal(t, strings.Join(want, "\n"), string(o.next().Events))
}

func TestWhatThereIsToKnowOfARun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(2)
	get := func() (v map[string]any) {
		a := f.do(http.MethodGet, "/runs/"+r.id(), "")
		require.Equal(t, http.StatusOK, a.status)
		require.NoError(t, json.Unmarshal([]byte(a.body), &v))
		_, err := time.Parse(time.RFC3339Nano, v["started_at"].(string))
		require.NoError(t, err)
		delete(v, "started_at")
		return v
	}
	require.Equal(t, map[string]any{"run_id": r.id(), "chat_id": "c", "kind": "send", "state": "running", "seq": 2.0,
		"turn_id": nil, "questions": []any{}, "ended_at": nil, "end": nil}, get())
	r.finish(done)
	v := get()
	require.NotNil(t, v["ended_at"])
	delete(v, "ended_at")
	require.Equal(t, map[string]any{"run_id": r.id(), "chat_id": "c", "kind": "send", "state": "ended", "seq": 2.0,
		"turn_id": nil, "questions": []any{}, "end": map[string]any{"persisted": true, "superseded": false, "reason": "done"}}, v)
}

func TestUnknownRunsAndPaths(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for _, path := range []string{"/runs/nonsense", "/runs/*", "/runs/0-00000000000000000000000000", "/runs/255-00000000000000000000000000/snapshot",
		"/runs/%00/snapshot", "/runs/..%2f..", "/nothing", "/", "/chat/live/", "/metrics/x"} {
		a := f.do(http.MethodGet, path, "")
		require.Equal(t, http.StatusNotFound, a.status, path)
		require.Equal(t, "not_found", a.problem(t).Code, path)
	}
	for path, allow := range map[string]string{"/chat/live": "GET, POST", "/livez": "GET, HEAD", "/runs/x/snapshot": "GET"} {
		for _, method := range []string{http.MethodDelete, http.MethodPut, "FROBNICATE"} {
			a := f.do(method, path, "")
			require.Equal(t, http.StatusMethodNotAllowed, a.status, path)
			require.Equal(t, allow, a.header.Get("Allow"))
			require.Equal(t, "method_not_allowed", a.problem(t).Code)
		}
	}
	require.Equal(t, http.StatusNotFound, f.do("FROBNICATE", "/nothing", "").status)
	for _, path := range []string{"/livez", "/readyz"} { // as some probes ask
		require.Equal(t, http.StatusOK, f.do(http.MethodHead, path, "").status, path)
	}
}
