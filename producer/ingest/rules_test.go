package ingest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/ingest"
	"github.com/rejoin/rejoin/subjects"
)

func TestStartRules(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	long := strings.Repeat("x", 256)
	for name, tc := range map[string]struct {
		body   string
		status int
		detail string
	}{
		"plain":                  {`{"chat_id":"c1"}`, 201, ""},
		"all fields":             {`{"chat_id":"c2","owner":"o","kind":"send","on_active":"supersede","client_token":"t"}`, 201, ""},
		"unknown fields":         {`{"chat_id":"c3","whatever":[1,{}]}`, 201, ""},
		"null is absent":         {`{"chat_id":"c4","owner":null,"kind":null,"on_active":null,"client_token":null}`, 201, ""},
		"256 bytes":              {`{"chat_id":"` + long + `"}`, 201, ""},
		"control characters":     {`{"chat_id":"a\u0000\n\u007f"}`, 201, ""},
		"a wildcard":             {`{"chat_id":"*.>"}`, 201, ""},
		"a surrogate pair":       {`{"chat_id":"\ud83d\ude00"}`, 201, ""},
		"longest token":          {`{"chat_id":"c5","client_token":"` + long[:128] + `"}`, 201, ""},
		"no chat_id":             {`{}`, 400, "chat_id"},
		"null chat_id":           {`{"chat_id":null}`, 400, "chat_id"},
		"empty chat_id":          {`{"chat_id":""}`, 400, "chat_id"},
		"257 bytes":              {`{"chat_id":"` + long + `x"}`, 400, "chat_id"},
		"257 bytes in 256 runes": {`{"chat_id":"` + long[:255] + `é"}`, 400, "chat_id"},
		"a number":               {`{"chat_id":7}`, 400, "chat_id"},
		"half a pair":            {`{"chat_id":"\ud800"}`, 400, "chat_id"},
		"halves swapped":         {`{"chat_id":"\ude00\ud83d"}`, 400, "chat_id"},
		"an escaped backslash":   {`{"chat_id":"\\ud800"}`, 201, ""},
		"not UTF-8":              {"{\"chat_id\":\"\xff\"}", 400, "UTF-8"},
		"queue":                  {`{"chat_id":"c","on_active":"queue"}`, 400, "queue"},
		"another on_active":      {`{"chat_id":"c","on_active":"kill"}`, 400, "on_active"},
		"empty on_active":        {`{"chat_id":"c","on_active":""}`, 400, "on_active"},
		"token too long":         {`{"chat_id":"c","client_token":"` + long[:129] + `"}`, 400, "client_token"},
		"owner too long":         {`{"chat_id":"c","owner":"` + long + `x"}`, 400, "owner"},
		"kind too long":          {`{"chat_id":"c","kind":"` + long + `"}`, 400, "kind"},
		"owner is no string":     {`{"chat_id":"c","owner":{}}`, 400, "owner"},
		"heartbeat supersedes":   {`{"chat_id":"c","kind":"heartbeat","on_active":"supersede"}`, 400, "heartbeat"},
		"an array":               {`[]`, 400, "object"},
		"no JSON":                {`chat_id=c`, 400, "object"},
		"nothing":                {``, 400, "object"},
		"two objects":            {`{"chat_id":"c"}{}`, 400, "object"},
		"too large":              {`{"chat_id":"c","x":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "larger"},
	} {
		t.Run(name, func(t *testing.T) {
			a := n.post(t, "/runs", tc.body)
			require.Equal(t, tc.status, a.status, a.body)
			if tc.status == http.StatusCreated {
				var in struct {
					ChatID string `json:"chat_id"`
				}
				require.NoError(t, json.Unmarshal([]byte(tc.body), &in))
				require.Equal(t, in.ChatID, a.body["chat_id"])
				_, err := subjects.ParseRunID(a.body["run_id"].(string))
				require.NoError(t, err)
				require.Equal(t, "application/json", a.header.Get("Content-Type"))
				return
			}
			a.isProblem(t, tc.status, map[int]string{400: "bad_request", 413: "too_large"}[tc.status])
			require.Contains(t, a.body["detail"], tc.detail)
		})
	}
}

func TestOnActive(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	first := n.post(t, "/runs", `{"chat_id":"c"}`)
	id := first.body["run_id"].(string)

	for _, body := range []string{`{"chat_id":"c","on_active":"reject"}`, `{"chat_id":"c","kind":"heartbeat"}`} {
		a := n.post(t, "/runs", body)
		a.isProblem(t, http.StatusConflict, "already_streaming")
		require.Equal(t, id, a.body["run_id"])
	}
	second := n.post(t, "/runs", `{"chat_id":"c"}`)
	require.Equal(t, http.StatusCreated, second.status)
	a := n.post(t, "/runs/"+id+"/events", ndjson(1, 3))
	a.isProblem(t, http.StatusConflict, "fenced")
	require.Equal(t, second.body["run_id"], a.body["next_run_id"])
	n.post(t, "/runs/"+id+"/heartbeat", "").isProblem(t, http.StatusConflict, "fenced")
	n.post(t, "/runs/"+id+"/end", `{"persisted":true}`).isProblem(t, http.StatusConflict, "fenced")
	_, end := n.logged(t, "/runs/"+id)
	require.True(t, end.Superseded)

	require.Equal(t, 200, n.post(t, "/runs/"+second.body["run_id"].(string)+"/end", `{"persisted":true}`).status)
	require.Equal(t, http.StatusCreated, n.post(t, "/runs", `{"chat_id":"c","on_active":"reject"}`).status, "nothing is active any more")
}

func TestTheSameClientTokenGetsTheSameRun(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	body := `{"chat_id":"c","client_token":"t"}`
	first := n.post(t, "/runs", body)
	for _, body := range []string{body, `{"chat_id":"c","client_token":"t","on_active":"reject"}`} {
		again := n.post(t, "/runs", body)
		require.Equal(t, http.StatusCreated, again.status)
		require.Equal(t, first.body, again.body)
	}
	other := n.post(t, "/runs", `{"chat_id":"d","client_token":"t"}`)
	require.NotEqual(t, first.body["run_id"], other.body["run_id"], "a token is the chat's own")
}

func TestEventsRules(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{MaxEventBytes: 1000})
	fit := func(size int) string {
		return `{"type":"CUSTOM","value":"` + strings.Repeat("x", size-len(`{"type":"CUSTOM","value":""}`)) + `"}`
	}
	for name, tc := range map[string]struct {
		body, first            string
		status                 int
		code                   string
		accepted, last, stored int
		extra                  map[string]string
	}{
		"one":                        {body: event(1), status: 200, accepted: 1, last: 1},
		"three":                      {body: ndjson(1, 3), status: 200, accepted: 3, last: 3},
		"CRLF":                       {body: event(1) + "\r\n" + event(2) + "\r\n", status: 200, accepted: 2, last: 2},
		"nothing":                    {body: "", status: 200},
		"blank lines":                {body: "\n\n" + event(1) + "\n \t\r\n" + event(2) + "\n\n", status: 200, accepted: 2, last: 2},
		"first is 1":                 {body: ndjson(1, 3), first: "1", status: 200, accepted: 3, last: 3},
		"a gap":                      {body: ndjson(3, 3), first: "3", status: 409, code: "seq_gap", extra: map[string]string{"expected_seq": "1"}},
		"first is 0":                 {body: ndjson(1, 1), first: "0", status: 400, code: "bad_request"},
		"first is negative":          {body: ndjson(1, 1), first: "-1", status: 400, code: "bad_request"},
		"first is +1":                {body: ndjson(1, 1), first: "+1", status: 400, code: "bad_request"},
		"first is 1.0":               {body: ndjson(1, 1), first: "1.0", status: 400, code: "bad_request"},
		"first is empty":             {body: ndjson(1, 1), first: "-", status: 400, code: "bad_request"},
		"first is past 2^53-1":       {body: ndjson(1, 1), first: "9007199254740992", status: 400, code: "bad_request"},
		"not JSON":                   {body: ndjson(1, 2) + "nonsense\n" + ndjson(3, 3), status: 400, code: "bad_request", stored: 2, extra: map[string]string{"line": "3"}},
		"counted with blank lines":   {body: event(1) + "\n\n\n[]\n", status: 400, code: "bad_request", stored: 1, extra: map[string]string{"line": "4"}},
		"an array":                   {body: "[" + event(1) + "]", status: 400, code: "bad_request", extra: map[string]string{"line": "1"}},
		"no type":                    {body: `{"name":"x"}`, status: 400, code: "bad_request", extra: map[string]string{"line": "1"}},
		"type is no string":          {body: `{"type":1}`, status: 400, code: "bad_request", extra: map[string]string{"line": "1"}},
		"two on a line":              {body: event(1) + event(2), status: 400, code: "bad_request", extra: map[string]string{"line": "1"}},
		"not UTF-8":                  {body: ndjson(1, 1) + "{\"type\":\"\xff\"}", status: 400, code: "bad_request", stored: 1, extra: map[string]string{"line": "2"}},
		"over two lines":             {body: "{\n\"type\":\"CUSTOM\"}", status: 400, code: "bad_request", extra: map[string]string{"line": "1"}},
		"as large as allowed":        {body: fit(1000) + "\n" + fit(1000), status: 200, accepted: 2, last: 2},
		"as large as allowed, CRLF":  {body: fit(1000) + "\r\n" + fit(1000) + "\r\n", status: 200, accepted: 2, last: 2},
		"one byte too large":         {body: ndjson(1, 1) + fit(1001) + "\n" + ndjson(2, 2), status: 413, code: "too_large", stored: 1, extra: map[string]string{"line": "2"}},
		"one byte too large, at EOF": {body: ndjson(1, 1) + fit(1001), status: 413, code: "too_large", stored: 1, extra: map[string]string{"line": "2"}},
		"a whole line too large":     {body: ndjson(1, 1) + fit(200_000) + "\n" + ndjson(2, 2), status: 413, code: "too_large", stored: 1, extra: map[string]string{"line": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := n.start(t, name)
			var header []string
			if tc.first == "-" {
				header = []string{ingest.FirstSeqHeader, ""}
			} else if tc.first != "" {
				header = []string{ingest.FirstSeqHeader, tc.first}
			}
			a := n.post(t, path+"/events", tc.body, header...)
			require.Equal(t, tc.status, a.status, a.body)
			got, _ := n.logged(t, path)
			if tc.status == 200 {
				require.EqualValues(t, tc.accepted, a.seq("accepted"))
				require.EqualValues(t, tc.last, a.seq("last_seq"))
				require.Len(t, got, tc.accepted, "stored before it is said")
				return
			}
			a.isProblem(t, tc.status, tc.code)
			for k, v := range tc.extra {
				require.Equal(t, v, a.body[k].(json.Number).String(), k)
			}
			require.Len(t, got, tc.stored, "what came before is stored, and nothing after")

			a = n.post(t, path+"/events", ndjson(tc.stored+1, tc.stored+2))
			require.Equal(t, 200, a.status, "the run goes on: %v", a.body)
			require.EqualValues(t, tc.stored+2, a.seq("last_seq"))
		})
	}
}

func TestUnknownRunsAreNotFound(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	for _, id := range []string{string(subjects.NewRunID(0)), string(subjects.NewRunID(99)), "x", "0-*", "%20", "0-" + strings.Repeat("v", 26)} {
		for _, request := range []string{"/events", "/heartbeat", "/end"} {
			a := n.post(t, "/runs/"+id+request, `{"type":"CUSTOM"}`)
			a.isProblem(t, http.StatusNotFound, "not_found")
		}
	}
}

func TestEndRules(t *testing.T) {
	t.Parallel()
	n := newNode(t, broker(t), ingest.Config{})
	for name, tc := range map[string]struct {
		body, again string
		want        subjects.End
		code        string // of the refusal, "" for 200
	}{
		"done":            {`{"persisted":true}`, `{"persisted":true,"reason":"done"}`, subjects.End{Persisted: true, Reason: "done"}, ""},
		"not persisted":   {`{"persisted":false,"reason":"error"}`, `{"persisted":false,"reason":"error"}`, subjects.End{Reason: "error"}, ""},
		"absent is false": {`{}`, `{"persisted":null,"reason":null}`, subjects.End{Reason: "done"}, ""},
		"stopped":         {`{"persisted":true,"reason":"stopped"}`, `{"persisted":true,"reason":"stopped"}`, subjects.End{Persisted: true, Reason: "stopped"}, ""},
		"skipped":         {`{"persisted":false,"reason":"skipped"}`, `{"persisted":false,"reason":"skipped"}`, subjects.End{Reason: "skipped"}, ""},
		"save failed":     {`{"persisted":false,"reason":"save_failed"}`, `{"persisted":false,"reason":"save_failed"}`, subjects.End{Reason: "save_failed"}, ""},
		"another reason":  {`{"persisted":true}`, `{"persisted":true,"reason":"error"}`, subjects.End{Persisted: true, Reason: "done"}, "run_ended"},
		"another verdict": {`{"persisted":true}`, `{"persisted":false}`, subjects.End{Persisted: true, Reason: "done"}, "run_ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := n.start(t, name)
			n.post(t, path+"/events", ndjson(1, 3))
			a := n.post(t, path+"/end", tc.body)
			require.Equal(t, 200, a.status, a.body)
			require.EqualValues(t, 3, a.seq("seq"))
			_, end := n.logged(t, path)
			require.Equal(t, &tc.want, end)

			a = n.post(t, path+"/end", tc.again)
			if tc.code == "" {
				require.Equal(t, 200, a.status, a.body)
				require.EqualValues(t, 3, a.seq("seq"))
			} else {
				a.isProblem(t, http.StatusConflict, tc.code)
			}
			n.post(t, path+"/events", ndjson(4, 4)).isProblem(t, http.StatusConflict, "run_ended")
			n.post(t, path+"/heartbeat", "").isProblem(t, http.StatusConflict, "run_ended")
			got, _ := n.logged(t, path)
			require.Len(t, got, 3)
		})
	}
	for name, body := range map[string]string{
		"another reason":   `{"persisted":true,"reason":"bored"}`,
		"fabric's reason":  `{"persisted":false,"reason":"abandoned"}`,
		"fabric's reason2": `{"persisted":false,"reason":"superseded"}`,
		"reason no string": `{"persisted":true,"reason":1}`,
		"persisted string": `{"persisted":"true"}`,
		"persisted number": `{"persisted":1}`,
		"no object":        `true`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := n.start(t, "bad "+name)
			n.post(t, path+"/end", body).isProblem(t, http.StatusBadRequest, "bad_request")
			_, end := n.logged(t, path)
			require.Nil(t, end)
		})
	}
}
