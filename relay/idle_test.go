package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/relay"
	"github.com/rejoin/rejoin/subjects"
)

func long(n int) string { return strings.Repeat("x", n) }

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (f *fabric) idle(body string) {
	f.t.Helper()
	a := f.do(http.MethodPost, "/chat/live", body)
	require.Equal(f.t, http.StatusNoContent, a.status, a.body)
	require.Empty(f.t, a.body)
	require.Equal(f.t, "no-store", a.header.Get("Cache-Control"))
}

func TestIdleChats(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	f.idle(`{"chat_id":"none","protocol":1}`)
	f.idle(`{"chat_id":"none","protocol":1,"run_id":"0-00000000000000000000000000","after_seq":3}`)
	f.idle(`{"chat_id":"none"}`)
	f.idle(`{"threadId":"none"}`)
	require.Equal(t, http.StatusNoContent, f.do(http.MethodGet, "/chat/live?chat_id=none", "").status)

	saved := f.start("saved")
	saved.deltas(2)
	saved.finish(done)
	f.idle(`{"chat_id":"saved","protocol":1}`)
	f.idle(`{"chat_id":"saved","protocol":1,"after_seq":1}`)
	f.idle(fmt.Sprintf(`{"chat_id":"none","protocol":1,"run_id":%q,"after_seq":1}`, saved.id())) // another chat's
	// A client that names the run drains it, saved or not.
	for after, frames := range []int{3, 2, 1} {
		o := f.live(fmt.Sprintf(`{"chat_id":"saved","protocol":1,"run_id":%q,"after_seq":%d}`, saved.id(), after))
		o.seq = uint64(after)
		for range frames {
			o.next()
		}
		require.NotNil(t, o.end)
		o.closed()
	}

	for _, end := range []subjects.End{failed, {Reason: subjects.ReasonSkipped}, {Reason: subjects.ReasonAbandoned}, {Reason: subjects.ReasonStopped}} {
		chat := string(end.Reason)
		r := f.start(chat)
		r.deltas(2)
		r.finish(end)
		o := f.live(fmt.Sprintf(`{"chat_id":%q,"protocol":1}`, chat))
		o.toEnd()
		require.Equal(t, end, o.end.End)
		require.Equal(t, text(2), o.text)
		r.evict()
		f.idle(fmt.Sprintf(`{"chat_id":%q,"protocol":1,"run_id":%q,"after_seq":2}`, chat, r.id()))
	}
}

func TestHANG01_WaitingForARun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for _, none := range []string{"0", "1", "null"} {
		f.idle(fmt.Sprintf(`{"chat_id":"idle","protocol":1,"wait_ms":%s}`, none))
	}
	for _, bad := range []string{"-1", `"5"`, "0.5", "[]"} {
		require.Equal(t, http.StatusBadRequest, f.do(http.MethodPost, "/chat/live", fmt.Sprintf(`{"chat_id":"idle","protocol":1,"wait_ms":%s}`, bad)).status)
	}
	// However long, and whatever runs out of an integer, is clamped and waits.
	for i, huge := range []string{"30000", "2147483648", "1000000000000", "1" + strings.Repeat("0", 60)} {
		chat := fmt.Sprint("huge", i)
		answers := make(chan *observer, 1)
		go func() { answers <- f.live(fmt.Sprintf(`{"chat_id":%q,"protocol":1,"wait_ms":%s}`, chat, huge)) }()
		f.waiting(1)
		r := f.start(chat)
		r.deltas(2)
		o := <-answers
		o.until(2)
		require.Equal(t, text(2), o.text)
		o.close()
		f.waiting(0)
	}
}

// A wait that has just ended and a run that has just begun: either the run or 204,
// and never an error, a hang, or both.
func TestHANG01_RunStartsAroundTheDeadline(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	for i := range 40 {
		chat := fmt.Sprint("edge", i)
		status := make(chan int, 1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		go func() {
			body := fmt.Sprintf(`{"chat_id":%q,"protocol":1,"wait_ms":%d}`, chat, i)
			resp, err := f.client.Do(request(ctx, t, http.MethodPost, f.url+"/chat/live", body))
			if err != nil {
				status <- 0
				return
			}
			resp.Body.Close()
			status <- resp.StatusCode
		}()
		f.start(chat)
		require.Contains(t, []int{http.StatusOK, http.StatusNoContent}, <-status)
	}
}

func TestHANG01_LeavingWhileWaitingFreesEverything(t *testing.T) {
	t.Parallel()
	f := newFabric(t, func(c *relay.Config) { c.MaxObservers = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := f.client.Do(request(ctx, t, http.MethodPost, f.url+"/chat/live", `{"chat_id":"c","protocol":1,"wait_ms":30000}`))
		left <- err
	}()
	f.waiting(1)
	require.Equal(t, http.StatusServiceUnavailable, f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`).status)
	cancel()
	require.Error(t, <-left)
	f.waiting(0)
	f.idle(`{"chat_id":"c","protocol":1}`)
}

// (a) A run is announced, and read, before anything was published.
func TestSEAM03_RunWithoutAnEvent(t *testing.T) {
	t.Parallel()
	f := newFabric(t, nil)
	old := f.start("c")
	old.deltas(9)
	old.finish(done)
	r := f.start("c")
	o := f.live(`{"chat_id":"c","protocol":1}`) // (b) without a run id: the new run
	first := o.next()
	require.Equal(t, r.id(), string(first.RunID))
	require.Zero(t, first.Seq)
	require.Empty(t, first.Events)
	r.deltas(1)
	o.until(1)
	require.Equal(t, text(1), o.text)
	require.Equal(t, 1, o.snapshots)
}
