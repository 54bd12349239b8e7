package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/runs"
)

// A user who may not make streams is told at once what to do, and needs no right to where
// nothing is to be made. One that may receive no answers is told that.
func TestAUserWithoutRightsIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	may := func(publish, subscribe []string) *server.Permissions {
		return &server.Permissions{Publish: &server.SubjectPermission{Deny: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}
	}
	url := broker(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "init", Password: "p"},
			{Username: "relay", Password: "p", Permissions: may([]string{"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.PURGE.>"}, []string{">"})},
			{Username: "deaf", Password: "p", Permissions: may(nil, []string{"_INBOX_deaf.>"})}}
	})
	as := func(user string) app.Config {
		return app.Config{NATS: strings.Replace(url, "nats://", "nats://"+user+":p@", 1), Addr: "127.0.0.1:0", Connect: time.Hour}
	}
	serve := func(cfg app.Config) error {
		a, err := app.New(cfg)
		require.NoError(t, err)
		return a.Run(t.Context())
	}
	err := serve(as("relay"))
	require.ErrorIs(t, err, runs.ErrForbidden)
	require.ErrorContains(t, err, `run "rejoin init"`)
	cfg := as("relay")
	cfg.NoProvision = true
	err = serve(cfg)
	require.ErrorIs(t, err, runs.ErrNotProvisioned)
	require.ErrorContains(t, err, `"rejoin init" makes them`)
	err = serve(as("deaf"))
	require.ErrorIs(t, err, runs.ErrForbidden)
	require.ErrorContains(t, err, "to receive answers below _INBOX;")

	_, err = app.Init(t.Context(), as("init"), false)
	require.NoError(t, err)
	boot(t, as("relay"))
}
