package subjects_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// keySafe is what both a subject token and a key token of the broker may hold.
var keySafe = regexp.MustCompile(`^[-_0-9A-Za-z]+$`)

// hostile are strings that bite brokers, keys, logs or terminals.
var hostile = []string{
	"", "a", "A", "_", "__", "_2E", "-", ".", "..", "a.b", "a_b", "a_2Eb", ".a", "a.", "a..b", "*", ">", "a.*", "a.>",
	"a:b", "user@x.com", "a b", " ", "\t", "\r\n", "\x00", "\x7f", "é", "e\u0301", "\u2028", "🙂", "$KV", "$JS.API.>",
	"\xff\xfe", "\xc0\x80", "a/b", "a\\b", "%2E", "=", strings.Repeat("é", 128), strings.Repeat(".", 256),
}

func TestID03_TokensRoundTripAndStayApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, s := range hostile {
		token, err := subjects.Token(s)
		require.NoError(t, err, "%q", s)
		require.Regexp(t, keySafe, token)
		require.LessOrEqual(t, len(token), 3*subjects.MaxOutside)
		require.NotContains(t, seen, token, "%q and %q share a token", s, seen[token])
		seen[token] = s
		back, err := subjects.ParseToken(token)
		require.NoError(t, err)
		require.Equal(t, s, back)
	}
}

func TestTokenRefusesWhatIsTooLong(t *testing.T) {
	t.Parallel()
	_, err := subjects.Token(strings.Repeat("a", 257))
	require.ErrorIs(t, err, subjects.ErrTooLong)
	_, err = subjects.PointerKey("", strings.Repeat("a", 257))
	require.ErrorIs(t, err, subjects.ErrTooLong)
	require.ErrorContains(t, err, "chat_id")
}

func TestParseTokenTakesOnlyWhatTokenGives(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a.b", "_2", "_2e", "_41", "_G0", "a_", "é", "*", "__", "_2E_"} {
		_, err := subjects.ParseToken(s)
		require.ErrorIs(t, err, subjects.ErrToken, "%q", s)
	}
}

func FuzzToken(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "x"+s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ta, errA := subjects.Token(a)
		tb, errB := subjects.Token(b)
		if errA != nil || errB != nil {
			return
		}
		if (ta == tb) != (a == b) {
			t.Fatalf("%q and %q: tokens %q and %q", a, b, ta, tb)
		}
		if !keySafe.MatchString(ta) {
			t.Fatalf("%q: unsafe token %q", a, ta)
		}
		if back, err := subjects.ParseToken(ta); err != nil || back != a {
			t.Fatalf("%q: back as %q, %v", a, back, err)
		}
		// The other direction: what parses is exactly what Token gives.
		if s, err := subjects.ParseToken(a); err == nil {
			if again, _ := subjects.Token(s); again != a {
				t.Fatalf("%q parses as %q, whose token is %q", a, s, again)
			}
		}
	})
}

func FuzzPointerKey(f *testing.F) {
	f.Add("a", "b.c", "a.b", "c")
	f.Add("", "_", "_", "")
	f.Fuzz(func(t *testing.T, tenantA, chatA, tenantB, chatB string) {
		realmA, errA := subjects.NewRealm(tenantA, "")
		realmB, errB := subjects.NewRealm("", tenantB)
		a, err := subjects.PointerKey(realmA, chatA)
		errA = errors.Join(errA, err)
		b, err := subjects.PointerKey(realmB, chatB)
		errB = errors.Join(errB, err)
		if errA != nil || errB != nil {
			return
		}
		if (a == b) != (tenantA == "" && tenantB == "" && chatA == chatB) {
			t.Fatalf("(%q, %q) and (%q, %q) have keys %q and %q", tenantA, chatA, tenantB, chatB, a, b)
		}
	})
}

func TestCheckChatID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]error{
		"c": nil, "\x00": nil, "é🙂": nil, strings.Repeat("x", 256): nil,
		"": subjects.ErrEmpty, strings.Repeat("x", 257): subjects.ErrTooLong, "\xff": subjects.ErrUTF8,
	} {
		require.ErrorIs(t, subjects.CheckChatID(s), want, "%q", s)
	}
}
