package relay_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

func TestWhatIsRefusedAndWhy(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	f.start("c").deltas(1)
	for body, want := range map[string]string{
		``:                                      "the body is empty",
		`[]`:                                    "no object",
		`null`:                                  "no object",
		`{"chat_id":"c","protocol":1} {}`:       "not one JSON object",
		"{\"chat_id\":\"\xff\",\"protocol\":1}": "not valid UTF-8",
		`{}`:                                    "chat_id is empty",
		`{"protocol":1}`:                        "chat_id is empty",
		`{"chat_id":null,"protocol":1}`:         "chat_id is empty",
		`{"CHAT_ID":"c","protocol":1}`:          "chat_id is empty",
		`{"chat_id":"","protocol":1}`:           "chat_id is empty",
		`{"chat_id":"","threadId":"c","protocol":1}`:               "chat_id is empty",
		`{"threadId":"","protocol":1}`:                             "threadId is empty",
		`{"chat_id":7,"protocol":1}`:                               "chat_id must be a string",
		`{"chat_id":["c"],"protocol":1}`:                           "chat_id must be a string",
		`{"chat_id":"\ud800","protocol":1}`:                        "chat_id has an escape",
		`{"chat_id":"a\udc00b","protocol":1}`:                      "chat_id has an escape",
		`{"chat_id":"\ud800\ud800\udc00","protocol":1}`:            "chat_id has an escape",
		`{"chat_id":"` + long(257) + `","protocol":1}`:             "1 to 256 bytes",
		`{"chat_id":"` + strings.Repeat("é", 129) + `"}`:           "1 to 256 bytes",
		`{"chat_id":"c","protocol":1,"wait_ms":-1}`:                "wait_ms must be an integer from 0 on",
		`{"chat_id":"c","protocol":1,"wait_ms":1.5}`:               "wait_ms must be",
		`{"chat_id":"c","protocol":1,"wait_ms":1e3}`:               "wait_ms must be",
		`{"chat_id":"c","protocol":1,"wait_ms":"5"}`:               "wait_ms must be",
		`{"chat_id":"c","protocol":1,"wait_ms":true}`:              "wait_ms must be",
		`{"chat_id":"c","protocol":1,"run_id":5}`:                  "run_id must be a string",
		`{"chat_id":"c","protocol":1,"run_id":"\udfff"}`:           "run_id has an escape",
		`{"chat_id":"c","protocol":1,"synced":"true"}`:             "synced must be true or false",
		`{"chat_id":"c","protocol":1,"synced":1}`:                  "synced must be",
		`{"chat_id":"c","protocol":1,"run_id":"r","after_seq":-1}`: "after_seq is -1; allowed are integers from 0 to 9007199254740991",
	} {
		a := f.do(http.MethodPost, "/chat/live", body)
		require.Equal(t, http.StatusBadRequest, a.status, body)
		p := a.problem(t)
		require.Equal(t, "bad_request", p.Code, body)
		require.Contains(t, p.Detail, want, body)
		require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	}
	for _, protocol := range []string{`2`, `0`, `-1`, `"1"`, `1.0`, `true`, `{}`, `10`} {
		a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":`+protocol+`}`)
		require.Equal(t, http.StatusBadRequest, a.status, protocol)
		require.Equal(t, "unsupported_protocol", a.problem(t).Code, protocol)
	}
	for query, want := range map[string]string{
		``:                                "chat_id is empty",
		`chat_id=%ff`:                     "\"chat_id\" is not valid UTF-8",
		`chat_id=%zz`:                     "query is malformed",
		`chat_id=c&wait_ms=soon`:          "wait_ms",
		`chat_id=c&run_id=r&after_seq=+1`: "after_seq",
		`chat_id=c&after_seq=1_0`:         "after_seq",
		`chat_id=c&synced=yes`:            "synced",
	} {
		a := f.do(http.MethodGet, "/chat/live?"+query, "")
		require.Equal(t, http.StatusBadRequest, a.status, query)
		require.Contains(t, a.problem(t).Detail, want, query)
	}
	for _, id := range []string{"x", ":", ":5", "r:", "r:-1", "r:1.5", "r:9007199254740992", "r:1x", "r:+1"} {
		a := f.do(http.MethodGet, "/chat/live?chat_id=c", "", "Last-Event-ID", id)
		require.Equal(t, http.StatusBadRequest, a.status, id)
		require.Contains(t, a.problem(t).Detail, "Last-Event-ID", id)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	f.start("c").deltas(1)
	pad := func(n int) string { return strings.Repeat(" ", n) }
	a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`+pad(64<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, a.status)
	require.Contains(t, a.problem(t).Detail, "65536 bytes")
	a = f.do(http.MethodPost, "/chat/live", `{"threadId":"c"}`+pad(4<<20))
	require.Equal(t, http.StatusRequestEntityTooLarge, a.status)
	require.Contains(t, a.problem(t).Detail, "4194304 bytes")
	f.live(`{"threadId":"c"}` + pad(1<<20)).close()
}

// What a chat may be called: any string, however odd, and no two are the same chat.
func TestChatIDsAreNeverInterpreted(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	ids := []string{"a.b", "a_b", "A", "a", "*", ">", "é", "e\u0301", "a b", "a\x00b", "\r\n", "😀", long(256), "chat/live?x=1"}
	for i, id := range ids {
		f.start(id).deltas(i + 1)
	}
	for i, id := range ids {
		o := f.live(fmt.Sprintf(`{"chat_id":%s,"protocol":1}`, quote(id)))
		require.Equal(t, uint64(i+1), o.next().Seq, "%q", id)
		o.close()
		o = f.open(http.MethodGet, "/chat/live?chat_id="+url.QueryEscape(id), "")
		require.Equal(t, uint64(i+1), o.next().Seq, "%q", id)
		o.close()
	}
	require.NotContains(t, f.logs.String(), "\x00")
}

func TestCUR02_BadCursors(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	live, ended, gone := f.start("live"), f.start("ended"), f.start("gone")
	for _, r := range []*run{live, ended, gone} {
		r.deltas(3)
	}
	ended.finish(done)
	gone.finish(failed)
	gone.evict()

	for _, chat := range []struct {
		name string
		run  *run
	}{{"live", live}, {"ended", ended}, {"gone", gone}} {
		ask := func(after string) string {
			return fmt.Sprintf(`{"chat_id":%q,"protocol":1,"run_id":%q,"after_seq":%s}`, chat.name, chat.run.id(), after)
		}
		for _, bad := range []string{"9007199254740992", "9007199254740993", "9223372036854775808", "1" + strings.Repeat("0", 40),
			"-1", "1.5", "1e2", "1.0", `"12"`, "true", "[]", "{}"} {
			a := f.do(http.MethodPost, "/chat/live", ask(bad))
			require.Equal(t, http.StatusBadRequest, a.status, "%s %s", chat.name, bad)
			require.Contains(t, a.problem(t).Detail, "after_seq", bad)
		}
		for _, ahead := range []string{"4", "1000003", "9007199254740991", "null"} {
			if chat.name == "gone" {
				require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", ask(ahead)).status)
				continue
			}
			o := f.live(ask(ahead))
			require.Equal(t, consumer.Snapshot, o.next().Type, "%s %s", chat.name, ahead)
			require.Equal(t, text(3), o.text)
			o.close()
		}
	}
	// 0 is before the first event.
	o := f.live(fmt.Sprintf(`{"chat_id":"live","protocol":1,"run_id":%q,"after_seq":0}`, live.id()))
	o.until(3)
	require.Zero(t, o.snapshots)
	// A cursor of a run that no fabric minted, or of another chat's, is a replaced one.
	for _, id := range []string{"nonsense", "*", "0-" + strings.Repeat("0", 26), gone.id(), ended.id()} {
		o := f.live(fmt.Sprintf(`{"chat_id":"live","protocol":1,"run_id":%q,"after_seq":2}`, id))
		require.Equal(t, live.id(), string(o.next().RunID))
		require.Equal(t, 1, o.snapshots)
		o.close()
	}
	// A cursor half given is none.
	o = f.live(`{"chat_id":"live","protocol":1,"after_seq":2}`)
	require.Equal(t, consumer.Snapshot, o.next().Type)
}
