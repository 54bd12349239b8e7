package relay_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/auth"
)

// passing is an Authenticator whose identities expire after a while, or are withdrawn.
type passing struct {
	tokens
	life time.Duration // 0 means that they do not expire
	gone atomic.Bool
}

func (p *passing) Authenticate(ctx context.Context, token string) (*auth.Identity, error) {
	id, err := p.tokens.Authenticate(ctx, token)
	if err == nil && p.life > 0 {
		id.Expires = time.Now().Add(p.life)
	}
	return id, err
}

func (p *passing) Valid(*auth.Identity) bool { return !p.gone.Load() }

// cut reads a stream until it is closed, and wants it to be closed between frames, with
// the time to come back and without an end.
func (o *observer) cut() {
	o.t.Helper()
	for {
		_, err := o.sse.Next()
		if err != nil {
			require.ErrorIs(o.t, err, io.EOF)
			break
		}
	}
	require.Positive(o.t, o.sse.Retry())
	require.Nil(o.t, o.end)
}

func TestAStreamOutlivesNoCredential(t *testing.T) {
	t.Parallel()
	p := &passing{life: 4 * time.Second} // all that happens before takes less
	f := resuming(t, p, nil)
	r := f.startOf("ann", "c")
	r.deltas(3)
	from := time.Now()
	o := f.open(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(ann)...)
	controls := f.open(http.MethodGet, "/runs/"+r.id()+"/controls", "", as("t/svc/producer")...)
	o.until(3)
	o.cut()
	require.GreaterOrEqual(t, time.Since(from), p.life*9/10, "not long before")
	controls.cut()
	f.eventually(`rejoin_streams_closed_total{cause="expired"}`, 2)
	require.Contains(t, f.logs.String(), "cause=expired")
	require.Contains(t, f.logs.String(), "run="+r.id())

	// One that waits for a run is told so.
	a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"none","protocol":1,"wait_ms":30000}`, as(ann)...)
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Equal(t, "token_expired", a.problem(t).Code)
	require.NotEmpty(t, a.header.Get("WWW-Authenticate"))
}

// What a resume token shows ends with the token, which ends with the credential that it was
// made with.
func TestAResumedStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	p := &passing{life: 8 * time.Second} // all that happens before takes less
	f := resuming(t, p, nil)
	f.startOf("ann", "c").deltas(3)
	v, _ := f.session(ann, "c")
	o := f.open(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(v.Run.ResumeToken)...)
	o.until(3)
	o.cut()
	require.WithinDuration(t, v.Run.ExpiresAt, time.Now(), patience)
	require.Eventually(t, func() bool {
		a := f.do(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(v.Run.ResumeToken)...)
		return a.status == http.StatusUnauthorized && a.problem(t).Code == "token_expired"
	}, patience, 10*time.Millisecond)
}

func TestAStreamEndsWhenItsKeyIsWithdrawn(t *testing.T) {
	t.Parallel()
	p := &passing{}
	f := resuming(t, p, nil)
	f.startOf("ann", "c").deltas(3)
	o := f.open(http.MethodPost, "/chat/live", `{"chat_id":"c","protocol":1}`, as(ann)...)
	o.until(3)
	p.gone.Store(true)
	o.cut()
	f.eventually(`rejoin_streams_closed_total{cause="expired"}`, 1)
}
