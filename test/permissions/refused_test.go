package permissions_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// rights are what the file lets a role publish and subscribe to.
func rights(t *testing.T) map[string]*server.Permissions {
	t.Helper()
	opts, err := server.ProcessConfigFile(configFile)
	require.NoError(t, err)
	all := map[string]*server.Permissions{}
	for _, u := range opts.Users {
		all[u.Username] = u.Permissions
	}
	require.Len(t, all, len(roles))
	return all
}

var streams = []string{subjects.BucketStream, subjects.LeaseBucketStream, subjects.TurnsStream, subjects.ControlStream,
	subjects.HistoryStream, "RUNS_0", "RUNS_3", "OTHER"}

// nobodyPublishes is what no role may send, whatever else it may. First what would forge
// something: records, controls and changes of keys that the broker alone republishes.
func nobodyPublishes() []string {
	all := []string{"rejoin.live.0.x", "rejoin.kv.chat.a.b", "rejoin.kv.run.x", "rejoin.kv.switch.all", "rejoin.controls.x.stop",
		"rejoin.controls.x.answer.q", "rejoin.other", "other", "$KV.other.key", "$KV.rejoin.other", "$KV.rejoin.chat.a",
		"$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.CONSUMER.MSG.NEXT.TURNS.other", "$JS.ACK.TURNS.other.1.1.1.1.1",
		"$JS.ACK.CONTROL.workers.1.1.1.1.1", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.SERVER.REMOVE", "$JS.API.ACCOUNT.PURGE.REJOIN",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.REJOIN.CONNZ", "_INBOX.x", "_R_.x"}
	for _, s := range streams {
		for _, api := range []string{"STREAM.DELETE", "STREAM.MSG.DELETE", "STREAM.SNAPSHOT", "STREAM.RESTORE", "STREAM.LEADER.STEPDOWN",
			"STREAM.PEER.REMOVE", "CONSUMER.CREATE", "CONSUMER.LIST", "CONSUMER.NAMES"} {
			all = append(all, "$JS.API."+api+"."+s)
		}
		all = append(all, "$JS.API.CONSUMER.CREATE."+s+".mine", "$JS.API.CONSUMER.CREATE."+s+".mine.rejoin.run.>",
			"$JS.API.CONSUMER.DURABLE.CREATE."+s+".mine", "$JS.API.CONSUMER.DELETE."+s+".workers", "$JS.API.DIRECT.GET."+s+".rejoin.run.0.x")
	}
	for _, api := range []string{"STREAM.INFO", "STREAM.CREATE", "STREAM.UPDATE", "STREAM.PURGE", "STREAM.MSG.GET", "DIRECT.GET"} {
		all = append(all, "$JS.API."+api+".OTHER")
	}
	return append(all, "$JS.API.STREAM.PURGE.HISTORY", "$JS.API.STREAM.PURGE.TURNS", "$JS.API.STREAM.PURGE.KV_rejoin_leases")
}

// nobodyHears is what no role may listen to: everything, what goes into streams, and
// what others asked for.
var nobodyHears = []string{">", "*", "*.>", "*.*", "*.*.*.*", "rejoin.>", "rejoin.*.>", "rejoin.*.*.*", "rejoin.run.>", "rejoin.run.0.*",
	"rejoin.turn.>", "rejoin.control.>", "rejoin.history.>", "rejoin.live.>", "rejoin.kv.>", "rejoin.kv.seg.>", "rejoin.kv.turn.>",
	"rejoin.kv.memory.>", "$KV.>", "$KV.rejoin.>", "$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$JS.FC.>", "$SYS.>",
	"$SYS.ACCOUNT.>", "_INBOX.>", "_INBOX.*", "_INBOX_other.>", "_R_.>", "$SRV.>"}

// probe is a connection that tells what it is refused.
type probe struct {
	t    *testing.T
	nc   *nats.Conn
	role string
}

func (p *probe) refused(subject string) bool {
	p.t.Helper()
	require.NoError(p.t, p.nc.Flush())
	err := p.nc.LastError()
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"`+subject+`"`)
}

func (p *probe) maySend(subject string) bool {
	p.t.Helper()
	require.NoError(p.t, p.nc.Publish(subject, nil))
	return !p.refused(subject)
}

func (p *probe) mayHear(subject string) bool {
	p.t.Helper()
	sub, err := p.nc.Subscribe(subject, func(*nats.Msg) {})
	require.NoError(p.t, err)
	defer func() { _ = sub.Unsubscribe() }()
	return !p.refused(subject)
}

// Each role is refused what no role may do, and everything that only other roles may.
func TestEveryRoleIsRefusedEverythingElse(t *testing.T) {
	t.Parallel()
	b := boot(t)
	all := rights(t)
	for _, role := range roles {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			nc, err := nats.Connect(b.server.ClientURL(), nats.UserInfo(role, password(role)),
				nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			require.NoError(t, err)
			defer nc.Close()
			p := &probe{t, nc, role}
			for _, s := range nobodyPublishes() {
				require.False(t, p.maySend(s), "publish to %s", s)
			}
			for _, s := range nobodyHears {
				require.False(t, p.mayHear(s), "subscribe to %s", s)
			}
			mine := all[role]
			tried := 0
			for other, theirs := range all {
				for _, s := range theirs.Publish.Allow {
					if s = concrete(s); !slices.ContainsFunc(mine.Publish.Allow, covers(s)) {
						require.False(t, p.maySend(s), "publish to %s, as %s may", s, other)
						tried++
					}
				}
				for _, s := range theirs.Subscribe.Allow {
					if !slices.Contains(mine.Subscribe.Allow, s) {
						require.False(t, p.mayHear(s), "subscribe to %s, as %s may", s, other)
						require.False(t, p.mayHear(concrete(s)), "subscribe to %s, as %s may", concrete(s), other)
						tried++
					}
				}
			}
			require.Greater(t, tried, 4, "there is something that others may")

			// And it is asked rightly: what it may do is not refused.
			for _, s := range mine.Publish.Allow {
				require.True(t, p.maySend(concrete(s)), "publish to %s", s)
			}
			for _, s := range mine.Subscribe.Allow {
				require.True(t, p.mayHear(s), "subscribe to %s", s)
			}
		})
	}
}

// concrete is a subject that a pattern matches.
func concrete(pattern string) string {
	return strings.ReplaceAll(strings.ReplaceAll(pattern, "*", "x"), ">", "x.y")
}

// covers says of a pattern whether it matches a subject.
func covers(subject string) func(string) bool {
	return func(pattern string) bool { return server.SubjectsCollide(pattern, subject) }
}

// What makes the roles what they are, in words: a change of the file has to change this too.
func TestWhatEachRoleIsFor(t *testing.T) {
	t.Parallel()
	all := rights(t)
	may := func(role, subject string) bool {
		return slices.ContainsFunc(all[role].Publish.Allow, covers(subject))
	}
	for _, c := range []struct{ subject, who string }{
		{"rejoin.run.0.x", "relay worker producer janitor"},
		{"rejoin.turn.send.x", "relay worker producer janitor"},
		{"rejoin.history.t.c", "worker"},
		{"$KV.rejoin.seg.x.0", "relay worker producer"},
		{"$KV.rejoin.turn.x", "relay worker"},
		{"$KV.rejoin.memory.t.c", "worker producer"},
		{"$KV.rejoin.switch.all", "relay provisioner"},
		{"$KV.rejoin_leases.x", "relay worker producer"},
		{"$JS.API.STREAM.PURGE.KV_rejoin", "janitor"},
		{"$JS.API.STREAM.CREATE.RUNS_0", "provisioner"},
		{"$JS.API.STREAM.UPDATE.RUNS_0", "provisioner"},
		{"$JS.API.CONSUMER.CREATE.TURNS.workers", "provisioner"},
		{"$JS.API.CONSUMER.MSG.NEXT.TURNS.workers", "worker"},
		{"$JS.ACK.TURNS.workers.1.1.1.1.1", "worker"},
		{"$JS.API.STREAM.MSG.GET.HISTORY", "relay worker"},
	} {
		var who []string
		for _, role := range roles {
			if may(role, c.subject) {
				who = append(who, role)
			}
		}
		require.Equal(t, c.who, strings.Join(who, " "), c.subject)
	}
	for _, role := range roles {
		require.Contains(t, all[role].Subscribe.Allow, inbox(role)+".>")
		for _, s := range all[role].Subscribe.Allow {
			require.True(t, s == inbox(role)+".>" || strings.HasPrefix(s, "rejoin."), "%s hears %s", role, s)
		}
	}
}
