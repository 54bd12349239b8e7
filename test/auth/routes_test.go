package auth_test

import (
	"crypto/ed25519"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// Every route that the relay has is expected here, and none besides.
func TestEveryRouteHasExpectations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	named := w.routes()
	require.ElementsMatch(t, slices.Collect(maps.Keys(named)), slices.Collect(maps.Keys(asked)))
	for route, access := range named {
		if access != "public" {
			require.Contains(t, roles, access, route)
		}
	}
}

// Without a good credential nothing is told, whatever is asked for.
func TestEveryRouteWithoutAGoodCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	mine := w.owned(ann)
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims(ann, nil)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	require.NoError(t, err)
	confused := jwt.NewWithClaims(jwt.SigningMethodHS256, claims(ann, nil))
	confused.Header["kid"] = w.issuer().id
	asSecret, err := confused.SignedString([]byte(w.issuer().private.Public().(ed25519.PublicKey)))
	require.NoError(t, err)
	bad := map[string]struct{ token, code string }{
		"no credential":           {"", "unauthenticated"},
		"garbage":                 {"garbage", "invalid_token"},
		"expired":                 {w.sign(w.issuer(), claims(ann, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})), "token_expired"},
		"not yet":                 {w.sign(w.issuer(), claims(ann, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})), "invalid_token"},
		"wrong audience":          {w.sign(w.issuer(), claims(ann, map[string]any{"aud": "others"})), "invalid_token"},
		"wrong issuer":            {w.sign(w.issuer(), claims(ann, map[string]any{"iss": "others"})), "invalid_token"},
		"wrong key":               {w.sign(newKey(w.issuer().id), claims(ann, nil)), "invalid_token"},
		"unknown key":             {w.sign(newKey("other"), claims(ann, nil)), "invalid_token"},
		"no tenant":               {w.sign(w.issuer(), claims(ann, map[string]any{"org": nil})), "invalid_token"},
		"alg none":                {unsigned, "invalid_token"},
		"public key as a secret":  {asSecret, "invalid_token"},
		"resume token, elsewhere": {w.resume(ann, mine), "invalid_token"},
	}
	for route, access := range w.routes() {
		for name, c := range bad {
			method := strings.Fields(route)[0]
			ask := asked[route].about(mine)
			a := w.do(c.token, method, ask.path, ask.body)
			switch {
			case access == "public":
				require.Equal(t, asked[route].own, a.status, "%s: %s", route, name)
			case access == "watcher" && strings.HasPrefix(name, "resume"):
				require.Equal(t, 200, a.status, "%s: %s", route, name)
			default:
				require.Equal(t, http.StatusUnauthorized, a.status, "%s: %s: %s", route, name, a.body)
				require.Equal(t, c.code, a.code(), "%s: %s", route, name)
				require.NotEmpty(t, a.header.Get("WWW-Authenticate"))
				other := asked[route].about(unknown())
				require.Equal(t, a.body, w.do(c.token, method, other.path, other.body).body, "%s: %s", route, name)
			}
		}
	}
	w.unharmed(mine)
}

// resume gets a resume token for a run of somebody's.
func (w *world) resume(by who, of target) string {
	w.Helper()
	var session struct {
		Run struct {
			RunID       string `json:"run_id"`
			ResumeToken string `json:"resume_token"`
		}
	}
	w.want(http.StatusOK, w.token(by), http.MethodGet, "/chat/"+of.chat+"/session", "", &session)
	require.Equal(w, of.run, session.Run.RunID)
	w.secrets.add(session.Run.ResumeToken)
	return session.Run.ResumeToken
}

// unharmed wants a run of ann's to be as owned has made it.
func (w *world) unharmed(of target) {
	w.Helper()
	var run struct {
		State     string
		Seq       uint64
		Questions []any
	}
	w.want(http.StatusOK, w.token(ann), http.MethodGet, "/runs/"+of.run, "", &run)
	require.Equal(w, "waiting", run.State)
	require.EqualValues(w, 2, run.Seq)
	require.Len(w, run.Questions, 1)
	var session struct{ Run map[string]any }
	w.want(http.StatusOK, w.token(ann), http.MethodGet, "/chat/"+of.chat+"/session", "", &session)
	require.Equal(w, of.run, session.Run["run_id"], "still the chat's newest")
}

// With the wrong role the answer is the same whatever is asked for; with the right one,
// what is not the caller's is as what does not exist: status and body, to the byte, and
// what the broker is asked for it.
func TestEveryRouteForEverybody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	reads := w.countReads()
	callers := map[string]who{"other": bob, "elsewhere": elsewhere, "producer": service, "foreign producer": stranger, "admin": root}
	for route, access := range w.routes() {
		if access == "public" {
			continue
		}
		method := strings.Fields(route)[0]
		about := func(by who, of target) answer {
			t.Helper()
			ask := asked[route].about(of)
			return w.do(w.token(by), method, ask.path, ask.body)
		}
		for name, by := range callers {
			foreign, nobodys := w.owned(ann), unknown()
			reads.naming(foreign) // for making it
			a := about(by, foreign)
			first := reads.naming(foreign)
			b := about(by, nobodys)
			second := reads.naming(nobodys)
			// The run's own producer may read of it at the same time, and a read be heard of
			// after its answer, but not again and again.
			for try := 0; first != second && !asked[route].new && try < 10; try++ {
				a = about(by, foreign)
				first = reads.naming(foreign)
				b = about(by, nobodys)
				second = reads.naming(nobodys)
			}
			what := route + " as " + name
			allowed := slices.Contains(roles[access], by.role)
			if allowed && by == service && strings.Contains(route, "{run_id}") { // it is its tenant's
				require.Equal(t, asked[route].own, a.status, "%s: %s", what, a.body)
				require.Equal(t, http.StatusNotFound, b.status, what)
				continue
			}
			require.Equal(t, b.status, a.status, what)
			switch {
			case !allowed:
				require.Equal(t, http.StatusForbidden, a.status, what)
				require.Equal(t, "forbidden", a.code(), what)
				require.Equal(t, b.body, a.body, what)
				require.Zero(t, second, "%s: decided before anything is looked up", what)
				require.True(t, first == 0 || asked[route].new, what)
			case access == "admin":
				require.Equal(t, asked[route].own, a.status, what)
			case asked[route].new:
				require.Equal(t, asked[route].own, a.status, what)
				require.Equal(t, members(b.body), members(a.body), what)
			default:
				require.Equal(t, nobodys.hide(b.body), foreign.hide(a.body), what)
				require.Equal(t, second, first, "%s: what the broker is asked", what)
			}
			w.unharmed(foreign)
		}
		// Whose it is, is served.
		mine := w.owned(ann)
		by := ann
		switch access {
		case "producer":
			by = service
		case "admin":
			by = root
		}
		a := about(by, mine)
		require.Equal(t, asked[route].own, a.status, "%s as its owner: %s", route, a.body)
	}
}

// members are the names in a JSON object, "" for what is none.
func members(body string) []string {
	var m map[string]any
	if json.Unmarshal([]byte(body), &m) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
