package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/turns"
	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

// tokens is an Authenticator whose tokens say themselves who somebody is:
// tenant/user/roles, or the name of an error.
type tokens struct{}

func (tokens) Authenticate(_ context.Context, token string) (*auth.Identity, error) {
	switch token {
	case "":
		return nil, auth.ErrNoCredential
	case "expired":
		return nil, fmt.Errorf("%w: a while ago", auth.ErrExpired)
	case "away":
		return nil, auth.ErrUnavailable
	}
	parts := strings.Split(token, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%w: secret detail", auth.ErrInvalid)
	}
	id := &auth.Identity{Tenant: parts[0], Owner: parts[1]}
	for r := range strings.SplitSeq(parts[2], ",") {
		id.Roles |= auth.NewRoles(auth.Role(r))
	}
	var err error
	id.Realm, err = subjects.NewRealm(id.Tenant, id.Owner)
	return id, err
}

func (tokens) Valid(*auth.Identity) bool { return true }

func as(token string) []string { return []string{"Authorization", "Bearer " + token} }

// guarded is a relay with all routes that asks for credentials.
func guarded(t *testing.T) *fabric {
	t.Helper()
	return newFabric(t, func(c *relay.Config) {
		c.Auth, c.History = tokens{}, history.Open(c.Store)
		c.Turns = turns.New(c.Store, turns.Config{Logger: c.Logger})
	})
}

func TestCredentialsAreAskedFor(t *testing.T) {
	t.Parallel()
	f := guarded(t)
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		require.Equal(t, http.StatusOK, f.do(http.MethodGet, path, "").status, path)
	}
	for header, want := range map[string]struct {
		status int
		code   string
	}{
		"":                 {401, "unauthenticated"},
		"Bearer garbage":   {401, "invalid_token"},
		"Basic dTpw":       {401, "invalid_token"},
		"Bearer":           {401, "invalid_token"},
		"Bearer expired":   {401, "token_expired"},
		"Bearer away":      {503, "unavailable"},
		"bearer t/u/admin": {403, "forbidden"},
		"Bearer t/u/":      {403, "forbidden"},
	} {
		var h []string
		if header != "" {
			h = []string{"Authorization", header}
		}
		a := f.do(http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"hi"}}`, h...)
		require.Equal(t, want.status, a.status, "%q: %s", header, a.body)
		require.Contains(t, a.body, `"code":"`+want.code+`"`, header)
		require.NotContains(t, a.body, "secret")
		require.Equal(t, want.status == 401, a.header.Get("WWW-Authenticate") != "", header)
		require.Equal(t, want.status == 503, a.header.Get("Retry-After") != "", header)
	}
	a := f.do(http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"hi"}}`, append(as("t/u/observer"), as("t/v/observer")...)...)
	require.Equal(t, http.StatusUnauthorized, a.status, "two credentials are none")
}

// Chats of one name belong to as many users as have one; a run of another's is as if it
// did not exist, word for word.
func TestRunsOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	f := guarded(t)
	const mine, other, elsewhere = "t/u/observer", "t/v/observer", "s/u/observer"
	send := func(who string) string {
		a := f.do(http.MethodPost, "/chat/send", `{"chat_id":"c","input":{"text":"hi"}}`, as(who)...)
		require.Equal(t, http.StatusAccepted, a.status, a.body)
		var sent struct {
			RunID string `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(a.body), &sent))
		return sent.RunID
	}
	id := send(mine)
	nobodys := string(f.store.NewRunID())
	for _, who := range []string{other, elsewhere, "s/p/producer", "t/u/producer,observer", "t/p/producer"} {
		for _, path := range []string{"/runs/%s", "/runs/%s/snapshot"} {
			foreign := f.do(http.MethodGet, fmt.Sprintf(path, id), "", as(who)...)
			unknown := f.do(http.MethodGet, fmt.Sprintf(path, nobodys), "", as(who)...)
			if strings.HasPrefix(who, "t/") && who != other {
				require.Equal(t, http.StatusOK, foreign.status, "%s %s: %s", who, path, foreign.body)
				continue
			}
			require.Equal(t, http.StatusNotFound, foreign.status, "%s %s", who, path)
			require.Equal(t, unknown.body, foreign.body)
		}
	}
	for _, who := range []string{other, elsewhere} {
		for _, run := range []string{id, nobodys} {
			a := f.do(http.MethodPost, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, run), as(who)...)
			require.Equal(t, http.StatusNotFound, a.status)
			a = f.do(http.MethodPost, "/chat/answer", fmt.Sprintf(`{"chat_id":"c","run_id":%q,"request_id":"q","outcome":{}}`, run), as(who)...)
			require.Equal(t, http.StatusNotFound, a.status)
			a = f.do(http.MethodPost, "/chat/live", fmt.Sprintf(`{"chat_id":"c","protocol":1,"run_id":%q}`, run), as(who)...)
			require.Equal(t, http.StatusNoContent, a.status)
		}
		require.NotEqual(t, id, send(who), "the chat is everybody's own")
	}
	e, err := f.store.Entry(t.Context(), subjects.RunID(id))
	require.NoError(t, err)
	require.True(t, e.Active())
	require.Equal(t, "u", e.Owner)
	a := f.do(http.MethodPost, "/chat/stop", fmt.Sprintf(`{"chat_id":"c","run_id":%q}`, id), as(mine)...)
	require.Equal(t, http.StatusAccepted, a.status)
}

// Where nobody is authenticated, a credential is for somebody before the relay.
func TestNobodyIsAskedWithoutAuth(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	require.Equal(t, http.StatusNoContent, f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, "Authorization", "Basic dTpw").status)
}

// What clients are not told, operators are: why tokens are refused, now and then, and how
// many.
func TestRefusalsAreToldToOperators(t *testing.T) {
	t.Parallel()
	f := guarded(t)
	for range 3 {
		f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as("garbage")...)
	}
	f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`)
	f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as("t/u/admin")...)
	for why, n := range map[string]float64{"invalid": 3, "none": 1, "role": 1, "expired": 0} {
		require.Equal(t, n, f.number(`rejoin_credentials_refused_total{why="`+why+`"}`), why)
	}
	require.Equal(t, 1, strings.Count(f.logs.String(), "level=WARN msg=\"credentials are refused"))
	require.Contains(t, f.logs.String(), "secret detail")
	require.NotContains(t, f.logs.String(), "garbage")
}
