package edge_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/test/harness"
)

// fieldsOnly wants a body that has the lines of event streams and nothing else, in
// messages of exactly one data line, and gives their data.
func fieldsOnly(t *testing.T, body string) []string {
	t.Helper()
	var data []string
	require.NotContains(t, body, "\r")
	for message := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		lines := 0
		for line := range strings.SplitSeq(message, "\n") {
			field, value, ok := strings.Cut(line, ": ")
			switch {
			case line == ":":
			case ok && field == "data":
				lines++
				require.True(t, json.Valid([]byte(value)), "%.200q", value)
				data = append(data, value)
			case ok && field == "id":
				require.NotContains(t, value, mark)
			case ok && (field == "event" || field == "retry"):
				require.Regexp(t, `^[a-z0-9]+$`, value)
			default:
				require.Fail(t, "no field of an event stream", "%.200q", line)
			}
		}
		require.LessOrEqual(t, lines, 1, "%.200q", message)
	}
	return data
}

// Line breaks in whatever a producer or an observer writes into a field: each message
// of every stream stays one message, and no field is added.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	a := attacked(t, nil)
	a.watched(t)
	client := browser(t)
	for i, b := range breaks {
		poison := mark + b + "id: 1\n\nevent: end\ndata: " + `{"type":"STREAM_END"}` + b
		chat := fmt.Sprintf("%s%d%s", mark, i, b)
		p := quoted(poison)
		resp := ask(t, client, http.MethodPost, a.URL+"/runs", fmt.Sprintf(`{"chat_id":%s,"owner":%s,"kind":%s,"client_token":%s}`, quoted(chat), p, quoted(mark+b), p))
		require.Equal(t, http.StatusCreated, resp.StatusCode, all(t, resp))
		run := resp.Header.Get("Location")
		id := strings.TrimPrefix(run, "/runs/")
		events := []string{
			fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%s,"delta":%s}`, p, p),
			fmt.Sprintf(`{"type":%s,%s:%s}`, p, p, p),
			fmt.Sprintf(`{"type":"CUSTOM","name":%s,"value":{"requestId":%s,"status":"pending"}}`, quoted(mark+b+".request"), p),
			"{\"type\":\r\"RAW\"\t,\r\"event\":\r{}\r}", // the breaks that JSON allows between its tokens
			`{"type":"CUSTOM","name":"x","value":"` + "\u2028\u2029\u0085" + `"}`,
		}
		resp = ask(t, client, http.MethodPost, a.URL+run+"/events", strings.Join(events, "\n"))
		require.Equal(t, http.StatusOK, resp.StatusCode, "%q %s", b, all(t, resp))
		for _, bad := range []string{`{"type":"X","a":"` + mark + "\r" + `"}`, `{"type":"X","a":"` + "\x00" + `"}`, "{\"type\":\"X\",\"a\":\"\xff\"}", "data: {}", `{"type":"X"}{"type":"Y"}`} {
			require.Equal(t, http.StatusBadRequest, ask(t, client, http.MethodPost, a.URL+run+"/events", bad).StatusCode, bad)
		}
		ask(t, client, http.MethodPost, a.URL+"/chat/answer", fmt.Sprintf(`{"chat_id":%s,"run_id":%q,"request_id":%s,"outcome":{%s:%s}}`, quoted(chat), id, p, p, p))
		ask(t, client, http.MethodPost, a.URL+"/chat/stop", fmt.Sprintf(`{"chat_id":%s,"run_id":%q,"reason":%s}`, quoted(chat), id, quoted(mark+b)))
		live := ask(t, client, http.MethodGet, a.URL+"/runs/active", "", "Accept", "application/json")
		require.True(t, json.Valid([]byte(all(t, live))))
		ended := ask(t, client, http.MethodPost, a.URL+run+"/end", `{"persisted":false}`)
		if ended.StatusCode == http.StatusConflict { // the stop was quicker
			require.Contains(t, all(t, ended), `"run_ended"`)
		} else {
			require.Equal(t, http.StatusOK, ended.StatusCode)
		}

		query := a.URL + "/chat/live?" + url.Values{"chat_id": {chat}, "run_id": {id}, "after_seq": {"0"}}.Encode()
		data := fieldsOnly(t, all(t, ask(t, client, http.MethodGet, query, "")))
		require.Greater(t, len(data), len(events), "the events, and the end")
		for at, event := range events {
			f, err := consumer.ParseFrame([]byte(data[at]))
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(event, "\r", ""), string(f.Event), "byte for byte, line breaks aside")
		}
		for at, message := range data[len(events):] { // what closes the question, then the end
			f, err := consumer.ParseFrame([]byte(message))
			require.NoError(t, err)
			require.Equal(t, len(events)+at == len(data)-1, f.Type == consumer.End, message)
		}
		fieldsOnly(t, all(t, ask(t, client, http.MethodPost, a.URL+"/chat/live", harness.Live(chat))))
		fieldsOnly(t, all(t, ask(t, client, http.MethodPost, a.URL+"/chat/live", fmt.Sprintf(`{"threadId":%s}`, quoted(chat)))))
		fieldsOnly(t, all(t, ask(t, client, http.MethodGet, a.URL+run+"/controls", "")))
		for _, path := range []string{run, run + "/snapshot", "/chat/" + url.PathEscape(chat) + "/session", "/chat/" + url.PathEscape(chat) + "/history"} {
			resp := ask(t, client, http.MethodGet, a.URL+path, "")
			require.Equal(t, http.StatusOK, resp.StatusCode, path)
			require.True(t, json.Valid([]byte(all(t, resp))), path)
		}
	}
	// The stream of live runs, with all those chats still in what it tells.
	feed := ask(t, client, http.MethodGet, a.URL+"/runs/active", "")
	open := make(chan struct{})
	go func() {
		defer close(open)
		ask(t, client, http.MethodPost, a.URL+"/runs", fmt.Sprintf(`{"chat_id":%s,"kind":%s}`, quoted(mark+"\r\n\r\n"), quoted(mark+"\n\n")))
	}()
	<-open
	in := bufio.NewReader(feed.Body)
	for told := 0; told < 2; {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			require.True(t, json.Valid([]byte(rest)))
			told++
		} else {
			require.Regexp(t, `^(: ?|event: [a-z]+|)\n$`, line)
		}
	}
	a.unharmed(t)
}
