package acp_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

var updateScripts = map[string]func(*scripted){
	"chunk and response in one write": func(a *scripted) {
		m := a.hello()
		a.write(a.text("all ") + a.text("of it") + fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID) + "\n")
		a.hear()
	},
	"response first": func(a *scripted) {
		m := a.hello()
		a.write(a.text("1"))
		a.done(m, "end_turn")
		for i := range 3 {
			a.write(a.text(fmt.Sprint(i + 2)))
		}
		a.hear()
	},
	"response and no end": func(a *scripted) {
		a.done(a.hello(), "end_turn")
		for {
			a.write(a.text("x"))
			time.Sleep(20 * time.Millisecond) // it is never silent for long
		}
	},
	"late and later": func(a *scripted) {
		m := a.hello()
		a.done(m, "end_turn")
		if gate, err := net.Dial("tcp", os.Getenv("GATE")); err == nil {
			_, _ = io.Copy(io.Discard, gate) // until the test has seen the turn end
		}
		a.write(a.text("LATE"))
		m = a.prompt()
		a.write(a.text("second"))
		a.done(m, "end_turn")
		a.hear()
	},
	"updates before the session": func(a *scripted) {
		m := a.hear()
		a.reply(m, object{"protocolVersion": 1})
		m = a.hear()
		a.write(a.text("early ") + strings.ReplaceAll(a.text("of another session"), a.session, "x"))
		a.reply(m, object{"sessionId": a.session})
		a.write(a.text("bird "))
		m = a.prompt()
		a.write(a.text("caught"))
		a.done(m, "end_turn")
		a.hear()
	},
	"burst": func(a *scripted) {
		m := a.hello()
		var all strings.Builder
		for i := range 10_000 {
			all.WriteString(a.text(fmt.Sprintf("%d,", i)))
		}
		a.write(all.String())
		a.done(m, "end_turn")
		a.hear()
	},
	"unknown": func(a *scripted) {
		m := a.hello()
		a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + a.session + `","update":{"sessionUpdate":"of_tomorrow","n":1}}}` + "\n")
		a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + a.session + `","update":7}}` + "\n")
		a.write(`{"jsonrpc":"2.0","method":"session/update","params":[]}` + "\n")
		a.write(`{"jsonrpc":"2.0","method":"session/update"}` + "\n")
		a.write(strings.ReplaceAll(a.text("of another session"), a.session, "x"))
		a.write(a.text("fine"))
		a.done(m, "end_turn")
		a.hear()
	},
	"odd end": func(a *scripted) {
		m := a.hello()
		a.write(a.text("fine"))
		a.reply(m, object{})
		a.hear()
	},
}

func TestACP01_AChunkInTheSameWriteAsTheResponse(t *testing.T) {
	t.Parallel()
	require.Equal(t, "all of it", newTurn(t, "c", "x").finished(newAgent(t, "chunk and response in one write")))
}

func TestACP01_ChunksAfterTheResponse(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1234", newTurn(t, "c", "x").finished(newAgent(t, "response first")))
}

func TestACP01_ChunksWithoutEndAfterTheResponse(t *testing.T) {
	t.Parallel()
	require.Contains(t, newTurn(t, "c", "x").finished(newAgent(t, "response and no end")), "x")
}

func TestACP01_NothingLeaksIntoTheNextTurn(t *testing.T) {
	t.Parallel()
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer gate.Close()
	log := &testLog{t: t, wants: "belongs to no turn", seen: make(chan struct{}, 10)}
	a := newAgent(t, "late and later", func(c *acp.Config) {
		c.Env = append(c.Env, "GATE="+gate.Addr().String())
		c.Logger = slogger(log)
	})
	require.Empty(t, newTurn(t, "c", "one").finished(a))
	waits, err := gate.Accept()
	require.NoError(t, err)
	require.NoError(t, waits.Close())
	log.wait()
	require.Equal(t, "second", newTurn(t, "c", "two").finished(a))
}

func TestACP01_UpdatesBeforeTheSessionIsKnown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "early bird caught", newTurn(t, "c", "x").finished(newAgent(t, "updates before the session")))
}

func TestACP01_ABurst(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&want, "%d,", i)
	}
	require.Equal(t, want.String(), newTurn(t, "c", "x").finished(newAgent(t, "burst")))
}

func TestUpdatesThatAreNone(t *testing.T) {
	t.Parallel()
	r := newTurn(t, "c", "x")
	require.Equal(t, "fine", r.finished(newAgent(t, "unknown")))
	require.Contains(t, strings.Join(r.all(), "\n"), "acp.of_tomorrow")
}

func TestAnAnswerWithoutAStopReason(t *testing.T) {
	t.Parallel()
	r := newTurn(t, "c", "x")
	require.ErrorContains(t, r.run(newAgent(t, "odd end")), "stopReason")
	require.Equal(t, "RUN_ERROR", r.last().Type)
	require.Equal(t, "fine", r.text())
}

func TestARefusedEventIsLeftOut(t *testing.T) {
	t.Parallel()
	r := newTurn(t, "c", "x")
	r.refuse = func(event string) error {
		if strings.Contains(event, `"delta":"2"`) {
			return errRefused
		}
		return nil
	}
	require.Equal(t, "134", r.finished(newAgent(t, "response first")))
}
