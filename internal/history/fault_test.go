package history_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/subjects"
)

// The connection is cut at each message that the broker stores, so that acknowledgements
// are lost with it: what was stored counts.
func TestAcksAreLostAgainAndAgain(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", MaxPayload: 64 << 10})
	h, p := f.distant()
	f.append(h, turn("c", 100))
	one := turn("c", 600<<10)

	stored := make(chan *nats.Msg, 100)
	nc, err := f.server.Connect()
	require.NoError(t, err)
	defer nc.Close()
	subject, err := subjects.HistorySubject("", "c")
	require.NoError(t, err)
	_, err = nc.ChanSubscribe(subject, stored)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())

	saved := make(chan error, 1)
	go func() { saved <- h.Append(t.Context(), one) }()
	cuts := 0
	for done := false; !done; {
		select {
		case <-stored: // a part has reached the broker; its ack is on the way
			p.Cut()
			cuts++
		case err := <-saved:
			require.NoError(t, err)
			done = true
		case <-time.After(patience):
			t.Fatal("it is never saved")
		}
	}
	require.Greater(t, cuts, 5)
	got, err := f.Read(t.Context(), "", "c", 1)
	require.NoError(t, err)
	require.Equal(t, []history.Turn{one}, got)
	require.EqualValues(t, 11, f.messages(), "every part once")
}

// A writer that dies in the middle leaves parts that nobody sees, and holds nobody up.
func TestAHalfWrittenTurnIsPassedOver(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	first, dead, next := turn("c", 100), turn("c", 150<<10), turn("c", 100)
	f.append(f.History, first)
	f.half(dead, "w", 2, 1)
	require.Equal(t, []subjects.RunID{first.RunID}, f.runsOf(f.History, "c"))
	has, err := f.Has(t.Context(), "", "c", dead.RunID)
	require.NoError(t, err)
	require.False(t, has)
	has, err = f.Has(t.Context(), "", "c", first.RunID)
	require.NoError(t, err)
	require.True(t, has)

	f.append(f.History, first, next)
	require.Equal(t, []subjects.RunID{first.RunID, next.RunID}, f.runsOf(f.History, "c"))
	f.append(f.History, dead) // saved again after all
	require.Equal(t, []subjects.RunID{first.RunID, next.RunID, dead.RunID}, f.runsOf(f.History, "c"))
}

// Parts of different writers never become one turn.
func TestPartsOfTwoWritersAreNotMixed(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{MaxPayload: 64 << 10})
	one := turn("c", 150<<10)
	f.half(one, "w1", 1)
	f.half(one, "w2", 2, 3)
	require.Empty(t, f.runsOf(f.History, "c"))
	f.half(one, "w3", 3)
	require.Empty(t, f.runsOf(f.History, "c"))
}

// half publishes some parts of a turn, each with a body that is no turn.
func (f *fabric) half(t history.Turn, writer string, parts ...int) {
	f.Helper()
	subject, err := subjects.HistorySubject(t.Realm, t.ChatID)
	require.NoError(f, err)
	for _, i := range parts {
		s, err := f.js.Stream(f.Context(), subjects.HistoryStream)
		require.NoError(f, err)
		m := nats.NewMsg(subject)
		m.Data = []byte(`{"run_id":"` + string(t.RunID) + `"}` + "\n[]")
		m.Header.Set("Rejoin-Turn", string(t.RunID)+" "+string(rune('0'+i))+"/3 "+writer)
		var seq uint64
		if last, err := s.GetLastMsgForSubject(f.Context(), subject); err == nil {
			seq = last.Sequence
			if whole := strings.Fields(last.Header.Get("Rejoin-Turn")); len(whole) > 1 && whole[1] == "1/1" {
				m.Header.Set("Rejoin-Turns-Before", whole[0])
			} else if before := last.Header.Get("Rejoin-Turns-Before"); before != "" {
				m.Header.Set("Rejoin-Turns-Before", before)
			}
		}
		_, err = f.js.PublishMsg(f.Context(), m, jetstream.WithExpectLastSequencePerSubject(seq))
		require.NoError(f, err)
	}
}

// Whatever else stands on the subject: new turns go behind it and are seen.
func TestForeignMessagesDoNotStopAChat(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{})
	subject, err := subjects.HistorySubject("", "c")
	require.NoError(t, err)
	f.append(f.History, turn("c", 100))
	for _, header := range []string{"", "x", "0-x 1/1 w", "0-0000000000000000000000000g 2/1 w",
		"0-0000000000000000000000000g 1/9999999 w", "0-0000000000000000000000000g 1/1", "0-0000000000000000000000000g 1/1 w"} {
		m := nats.NewMsg(subject)
		m.Data = []byte("nonsense")
		if header != "" {
			m.Header.Set("Rejoin-Turn", header)
		}
		_, err := f.js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
		_, err = f.Read(t.Context(), "", "c", 0)
		require.NoError(t, err)
		one := turn("c", 100)
		f.append(f.History, one)
		got := f.runsOf(f.History, "c")
		require.Equal(t, one.RunID, got[len(got)-1])
	}
}

// The broker stops in the middle of many saves and comes back: each is there once.
func TestABrokerRestartLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir(), MaxPayload: 64 << 10})
	h, _ := f.distant()
	var ids []subjects.RunID
	stop := make(chan struct{})
	done := make(chan error, 1)
	half := make(chan struct{}, 100)
	go func() {
		for {
			one := turn("c", 150<<10)
			if err := h.Append(t.Context(), one); err != nil {
				done <- err
				return
			}
			ids = append(ids, one.RunID)
			select {
			case <-stop:
				done <- nil
				return
			default:
				select {
				case half <- struct{}{}:
				default:
				}
			}
		}
	}()
	for range 3 {
		<-half
		f.server.Stop()
		require.NoError(t, f.server.Restart())
		for len(half) > 0 {
			<-half
		}
		<-half
	}
	close(stop)
	require.NoError(t, <-done)
	got := f.runsOf(h, "c")
	require.Equal(t, ids[len(ids)-min(len(ids), len(got)):], got)
	require.NotEmpty(t, got)
}

func TestAppendGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFabric(t, natsd.Config{Listen: "127.0.0.1:0", StoreDir: t.TempDir()})
	h, p := f.distant()
	p.Silence()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	one := turn("c", 100)
	require.ErrorIs(t, h.Append(ctx, one), context.DeadlineExceeded)
	_, err := h.Read(ctx, "", "c", 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	f.append(f.History, one, one)
	require.Equal(t, []subjects.RunID{one.RunID}, f.runsOf(f.History, "c"))
}
