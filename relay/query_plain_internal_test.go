package relay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rejoin/rejoin/internal/problem"
)

// What is read of a query in the short way is what is read in the long one, and what
// clients send is read in the short one.
func TestAPlainQueryMeansTheSame(t *testing.T) {
	t.Parallel()
	check := func(t require.TestingT, query string) bool {
		short, ok := plainQuery(query)
		if !ok {
			return false
		}
		body, err := queryBody(query)
		require.NoError(t, err, query)
		var long fields
		require.NoError(t, problem.Decode(body, &long), query)
		require.Equal(t, long, short, query)
		return true
	}
	for _, query := range []string{"", "chat_id=c", "chat_id=12&run_id=r&after_seq=7&protocol=1&synced=true&wait_ms=30000",
		"chat_id=a%20b%26%C3%A9+x&after_seq=0&resume_token=x.y", "wait_ms=999999999999999&chat_id=null"} {
		require.True(t, check(t, query), query)
	}
	for _, query := range []string{"chat_id=", "chat_id=a&chat_id=b", "after_seq=07", "after_seq=-1", "after_seq=1.0", "protocol=2",
		"chat_id=%ff", "chat_id=%", "chat_id=a;b=c", "synced=1", "other=x", "&", "after_seq=9999999999999999", "chat%5fid=c"} {
		require.False(t, check(t, query), query)
	}
	piece := rapid.SampledFrom([]string{"chat_id", "run_id", "protocol", "after_seq", "wait_ms", "synced", "resume_token", "threadId", "=", "=", "=", "&", "&",
		"1", "0", "12", "true", "false", "null", "\"", " ", "+", "%20", "%", "-", "1e3", ";", "{}", "\xff", "é", "c"})
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "query"), ""))
	})
}
