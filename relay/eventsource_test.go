package relay_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// EventSource comes back with the address it was given and the id of the last
// frame: the id is the newer cursor.
func TestEventSourceComesBackWithTheLastID(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	r := f.start("c")
	r.deltas(4)
	o := f.open(http.MethodGet, "/chat/live?chat_id=c&protocol=1", "")
	require.Equal(t, consumer.Snapshot, o.next().Type)
	o.close()

	for _, query := range []string{"", "&run_id=" + r.id() + "&after_seq=1", "&run_id=other&after_seq=9"} {
		o = f.open(http.MethodGet, "/chat/live?chat_id=c"+query, "", "Last-Event-ID", r.id()+":3")
		o.seq, o.text = 3, text(3)
		o.until(4)
		require.Zero(t, o.snapshots)
		require.Equal(t, text(4), o.text)
		o.close()
	}
	o = f.open(http.MethodGet, fmt.Sprintf("/chat/live?chat_id=c&run_id=%s&after_seq=2&synced=true", r.id()), "")
	o.seq = 2
	require.Equal(t, uint64(3), o.next().Seq)
	require.Equal(t, uint64(4), o.next().Seq)
	require.Equal(t, consumer.Synced, o.next().Type)
	r.finish(done)
	o.toEnd()
	// 204 tells EventSource to stop.
	require.Equal(t, http.StatusNoContent, f.do(http.MethodGet, "/chat/live?chat_id=c", "").status)
}

func TestProtocolIsCheckedInAQueryToo(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	a := f.do(http.MethodGet, "/chat/live?chat_id=c&protocol=2", "")
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, "unsupported_protocol", a.problem(t).Code)
}
