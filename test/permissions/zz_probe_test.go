package permissions_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/subjects"
)

func TestZZForge(t *testing.T) {
	b := boot(t)
	_, err0 := app.Init(t.Context(), b.as("provisioner"), false)
	require.NoError(t, err0)
	c := func(role string) *nats.Conn {
		nc, err := nats.Connect(b.server.ClientURL(), nats.UserInfo(role, password(role)), nats.CustomInboxPrefix("_INBOX_"+role))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		return nc
	}
	p := c("producer")
	_, err := p.Request("$KV.rejoin.memory.x.y", []byte(`{"percent":100}`), 5*time.Second)
	require.NoError(t, err)
	require.NoError(t, p.PublishRequest("$JS.API.DIRECT.GET.KV_rejoin", subjects.KeySubject(subjects.SwitchAllKey), []byte(`{"last_by_subj":"$KV.rejoin.memory.x.y"}`)))
	require.NoError(t, p.Flush())
	require.NoError(t, p.PublishRequest("$KV.rejoin.memory.x.z", "rejoin.live.0.x", []byte(`{"percent":100}`)))
	time.Sleep(500 * time.Millisecond)
	v := c("provisioner")
	m, err := v.Request("$JS.API.DIRECT.GET.KV_rejoin", []byte(`{"last_by_subj":"`+subjects.KeySubject(subjects.SwitchAllKey)+`"}`), 5*time.Second)
	require.NoError(t, err)
	t.Logf("FORGED? %v %s", m.Header, m.Data)
}
