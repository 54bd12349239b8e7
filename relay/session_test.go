package relay_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nuid"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// startOf is start for a user of the tenant t.
func (f *fabric) startOf(user, chat string) *run {
	f.t.Helper()
	ctx := f.t.Context()
	realm, err := subjects.NewRealm("t", user)
	require.NoError(f.t, err)
	p, err := f.store.Pointer(ctx, realm, chat)
	require.NoError(f.t, err)
	r := &run{f: f, from: 1, entry: &runs.Entry{RunID: f.store.NewRunID(), Realm: realm, ChatID: chat, Owner: user, Generation: p.Generation + 1,
		State: runs.StateRunning, Writer: nuid.Next(), StartedAt: time.Now().UTC().Truncate(time.Millisecond)}}
	r.append(subjects.Record{Kind: subjects.KindStart})
	r.entry.FirstStreamSeq = r.prev
	require.NoError(f.t, f.store.CreateEntry(ctx, r.entry))
	p.Advance(r.entry.RunID, r.entry.Generation, "")
	require.NoError(f.t, f.store.SetPointer(ctx, p))
	return r
}

const ann, bob = "t/ann/observer", "t/bob/observer"

// resuming is a relay that asks for credentials and makes resume tokens.
func resuming(t *testing.T, callers auth.Authenticator, change func(*relay.Config)) *fabric {
	t.Helper()
	return newFabric(t, func(c *relay.Config) {
		var err error
		c.Auth = callers
		c.Resume, err = auth.NewResume(auth.ResumeConfig{Callers: callers, Logger: c.Logger})
		require.NoError(t, err)
		if change != nil {
			change(c)
		}
	})
}

// address is the answer to where a chat is.
type address struct {
	ChatID string `json:"chat_id"`
	Run    *struct {
		RunID       string    `json:"run_id"`
		State       string    `json:"state"`
		Kind        string    `json:"kind"`
		StartedAt   time.Time `json:"started_at"`
		ResumeToken string    `json:"resume_token"`
		ExpiresAt   time.Time `json:"expires_at"`
	} `json:"run"`
}

func (f *fabric) session(who, chat string) (v address, body string) {
	f.t.Helper()
	a := f.do(http.MethodGet, "/chat/"+url.PathEscape(chat)+"/session", "", as(who)...)
	require.Equal(f.t, http.StatusOK, a.status, a.body)
	require.Equal(f.t, "no-store", a.header.Get("Cache-Control"))
	require.NoError(f.t, json.Unmarshal([]byte(a.body), &v), a.body)
	return v, a.body
}

func TestASessionIsTheAddressOfAChatsRun(t *testing.T) {
	t.Parallel()
	f := resuming(t, tokens{}, nil)
	const chat = "a/b c"
	_, unknown := f.session(bob, chat)
	r := f.startOf("ann", chat)
	r.deltas(2)
	v, _ := f.session(ann, chat)
	require.Equal(t, chat, v.ChatID)
	require.Equal(t, r.id(), v.Run.RunID)
	require.Equal(t, "running", v.Run.State)
	require.Equal(t, "send", v.Run.Kind)
	require.Equal(t, r.entry.StartedAt, v.Run.StartedAt)
	require.WithinRange(t, v.Run.ExpiresAt, time.Now().Add(auth.DefaultResumeTTL-time.Minute), time.Now().Add(auth.DefaultResumeTTL))
	again, _ := f.session(ann, chat)
	require.NotEmpty(t, again.Run.ResumeToken)

	_, foreign := f.session(bob, chat)
	require.Equal(t, `{"chat_id":"a/b c","run":null}`+"\n", foreign)
	require.Equal(t, unknown, foreign)
	r.finish(done)
	v, _ = f.session(ann, chat)
	require.Equal(t, "ended", v.Run.State)
	r.evict()
	_, gone := f.session(ann, chat)
	require.Equal(t, unknown, gone)
	for path, status := range map[string]int{"/chat/%FF/session": 400, "/chat/" + strings.Repeat("x", 257) + "/session": 400, "/chat//session": 400} {
		require.Equal(t, status, f.do(http.MethodGet, path, "", as(ann)...).status, path)
	}
}

// Where nobody is authenticated there may be no tokens.
func TestASessionWithoutTokens(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	a := f.do(http.MethodGet, "/chat/c/session", "")
	require.Contains(t, a.body, `"run_id":"`+r.id()+`"`)
	require.Contains(t, a.body, `"resume_token":null,"expires_at":null`)
}

// A resume token shows its one run, in either place where it may stand.
func TestAResumeTokenShowsItsRunAndNothingElse(t *testing.T) {
	t.Parallel()
	f := resuming(t, tokens{}, nil)
	r := f.startOf("ann", "c")
	r.deltas(3)
	f.startOf("ann", "other").deltas(1)
	f.startOf("bob", "c").deltas(1)
	v, _ := f.session(ann, "c")
	token := v.Run.ResumeToken
	query := "&resume_token=" + url.QueryEscape(token)

	see := func(o *observer) {
		t.Helper()
		o.until(3)
		require.Equal(t, text(3), o.text)
		require.Equal(t, r.id(), o.resp.Header.Get("Rejoin-Run-Id"))
		o.close()
	}
	see(f.open(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(token)...))
	see(f.open(http.MethodGet, "/chat/live?chat_id=c", "", as(token)...))
	see(f.open(http.MethodGet, "/chat/live?chat_id=c"+query, ""))
	see(f.open(http.MethodGet, "/chat/live?chat_id=c&after_seq=0&run_id="+r.id()+query, ""))

	// What is not the token's is as what does not exist.
	nobodys := f.do(http.MethodPost, "/chat/live", `{"chat_id":"none","protocol":1}`, as(ann)...)
	require.Equal(t, http.StatusNoContent, nobodys.status)
	for _, q := range []string{"chat_id=other", "chat_id=none", "chat_id=c&run_id=" + string(f.store.NewRunID()), "chat_id=c&run_id=x", "chat_id=other&run_id=" + r.id()} {
		require.Equal(t, http.StatusNoContent, f.do(http.MethodGet, "/chat/live?"+q+query, "").status, q)
	}

	// It is good for nothing but watching, and stands nowhere else.
	for _, c := range []struct{ method, path, body, code string }{
		{"POST", "/chat/live?x=y" + query, `{"chat_id":"c","protocol":1}`, "unauthenticated"},
		{"GET", "/runs/" + r.id() + "?x=y" + query, "", "unauthenticated"},
		{"GET", "/chat/c/session?x=y" + query, "", "unauthenticated"},
	} {
		a := f.do(c.method, c.path, c.body)
		require.Equal(t, http.StatusUnauthorized, a.status, c.path)
		require.Equal(t, c.code, a.problem(t).Code)
	}
	for _, path := range []string{"/runs/" + r.id(), "/runs/" + r.id() + "/snapshot", "/runs/" + r.id() + "/controls", "/chat/c/session"} {
		a := f.do(http.MethodGet, path, "", as(token)...)
		require.Equal(t, http.StatusUnauthorized, a.status, path)
	}
	for _, bad := range []string{"chat_id=c&resume_token=x", "chat_id=c&resume_token=" + url.QueryEscape(ann), "chat_id=c" + query + query} {
		a := f.do(http.MethodGet, "/chat/live?"+bad, "")
		require.Equal(t, http.StatusUnauthorized, a.status, bad)
		require.Equal(t, "invalid_token", a.problem(t).Code)
	}
	a := f.do(http.MethodGet, "/chat/live?chat_id=c"+query, "", as(bob)...)
	require.Equal(t, http.StatusUnauthorized, a.status, "two credentials are none")

	// A newer run is not the token's, whatever becomes of its own.
	o := f.open(http.MethodGet, "/chat/live?chat_id=c"+query, "")
	o.until(3)
	next := f.startOf("ann", "c")
	next.deltas(1)
	r.finish(subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: next.entry.RunID})
	o.toEnd()
	require.Equal(t, text(3), o.text)
	see(f.open(http.MethodGet, "/chat/live?chat_id=c"+query, ""))
	r.evict()
	require.Equal(t, http.StatusNoContent, f.do(http.MethodGet, "/chat/live?chat_id=c"+query, "").status)
	require.NotContains(t, f.logs.String(), token)
	require.NotContains(t, f.logs.String(), token[strings.LastIndexByte(token, '.')+1:])
}

func TestAnEventSourceComesBackWithItsResumeToken(t *testing.T) {
	t.Parallel()
	f := resuming(t, tokens{}, nil)
	r := f.startOf("ann", "c")
	r.deltas(4)
	v, _ := f.session(ann, "c")
	o := f.open(http.MethodGet, "/chat/live?chat_id=c&resume_token="+url.QueryEscape(v.Run.ResumeToken), "", "Last-Event-ID", r.id()+":3")
	o.seq, o.text = 3, text(3)
	require.Equal(t, consumer.Event, o.next().Type)
	require.Equal(t, text(4), o.text)
}
