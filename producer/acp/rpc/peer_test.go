package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp/rpc"
)

func TestWhatCameBeforeAResponseIsHandledBeforeTheCallReturns(t *testing.T) {
	t.Parallel()
	got := &log{}
	s := connect(t, rpc.Config{Handler: got})
	for i := range 100 {
		call := s.call(t.Context(), "ask", map[string]int{"n": i})
		require.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ask","params":{"n":%d}}`, i+1, i), s.hear())
		s.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"note","params":%d}`+"\n"+`{"jsonrpc":"2.0","id":%d,"result":{"ok":true}}`+"\n", i, i+1))
		a := s.wait(call)
		require.NoError(t, a.err)
		require.JSONEq(t, `{"ok":true}`, a.result)
		require.Equal(t, fmt.Sprintf("note %d", i), got.all()[i])
	}
}

func TestACallbackRunsBetweenWhatCameBeforeAndAfter(t *testing.T) {
	t.Parallel()
	got := &log{}
	s := connect(t, rpc.Config{Handler: got})
	require.NoError(t, s.Go(t.Context(), "ask", nil, func(r json.RawMessage, err error) { got.add("answer %s %v", r, err) }))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"ask","params":{}}`, s.hear())
	s.say(`{"jsonrpc":"2.0","method":"a"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":7}` + "\n" + `{"jsonrpc":"2.0","method":"b"}` + "\n")
	require.NoError(t, s.out.Close())
	require.ErrorIs(t, s.end(), rpc.ErrEnded)
	require.Equal(t, []string{"a ", "answer 7 <nil>", "b "}, got.all())
}

func TestARequestMayBeAnsweredLaterAndOnce(t *testing.T) {
	t.Parallel()
	replies := make(chan rpc.Reply, 3)
	got := &log{on: func(_ string, _ json.RawMessage, reply rpc.Reply) { replies <- reply }}
	s := connect(t, rpc.Config{Handler: got})
	s.say(`{"jsonrpc":"2.0","id":"one","method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":0,"method":"slow"}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"slow"}` + "\n")
	one, two, three := <-replies, <-replies, <-replies
	two(map[string]string{"text": "x\ny"}, nil)
	two("again", nil)
	one(nil, errors.New("no luck"))
	three(nil, nil)
	require.Equal(t, `{"jsonrpc":"2.0","id":0,"result":{"text":"x\ny"}}`, s.hear())
	require.Equal(t, `{"jsonrpc":"2.0","id":"one","error":{"code":-32603,"message":"no luck"}}`, s.hear())
	require.Equal(t, `{"jsonrpc":"2.0","id":null,"result":{}}`, s.hear())
}

func TestTooManyOpenRequestsAreRefused(t *testing.T) {
	t.Parallel()
	replies := make(chan rpc.Reply, 2)
	s := connect(t, rpc.Config{MaxOpen: 2, Handler: &log{on: func(_ string, _ json.RawMessage, reply rpc.Reply) { replies <- reply }}})
	for i := range 3 {
		s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"slow"}`+"\n", i))
	}
	require.Contains(t, s.hear(), `"id":2,"error"`)
	(<-replies)(nil, nil)
	require.Contains(t, s.hear(), `"id":0,"result"`)
	s.say(`{"jsonrpc":"2.0","id":3,"method":"slow"}` + "\n")
	<-replies
	(<-replies)(nil, nil)
	require.Contains(t, s.hear(), `"id":3,"result"`)
}

func TestErrorsOfACall(t *testing.T) {
	t.Parallel()
	s := connect(t, rpc.Config{Handler: &log{}})
	for i, c := range []struct {
		response, want string
		code           int
	}{
		{`"error":{"code":-32000,"message":"log in first","data":{"x":1}}`, "log in first", rpc.CodeAuthRequired},
		{`"error":"boom"`, "without a message", rpc.CodeInternal},
		{`"error":{}`, "without a message", rpc.CodeInternal},
		{`"result":{},"error":{"code":5,"message":"both"}`, "both", 5},
	} {
		call := s.call(t.Context(), "ask", nil)
		s.hear()
		s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", i+1, c.response))
		var e *rpc.Error
		require.ErrorAs(t, s.wait(call).err, &e)
		require.Contains(t, e.Message, c.want)
		require.Equal(t, c.code, e.Code)
	}
	call := s.call(t.Context(), "ask", nil)
	s.hear()
	s.say(`{"jsonrpc":"2.0","id":5}` + "\n")
	require.NoError(t, s.wait(call).err, "an agent whose result is undefined")
}

func TestACallEndsWithItsContextAndWithThePeer(t *testing.T) {
	t.Parallel()
	s := connect(t, rpc.Config{Handler: &log{}})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	call := s.call(ctx, "ask", nil)
	s.hear()
	cancel(why)
	require.ErrorIs(t, s.wait(call).err, why)
	s.say(`{"jsonrpc":"2.0","id":1,"result":1}` + "\n")

	call = s.call(t.Context(), "ask", nil)
	s.hear()
	require.NoError(t, s.out.Close())
	require.ErrorIs(t, s.wait(call).err, rpc.ErrEnded)
	require.ErrorIs(t, s.end(), rpc.ErrEnded)
	require.EqualValues(t, 1, s.Unknown(), "the late response")
	_, err := s.Call(t.Context(), "ask", nil)
	require.ErrorIs(t, err, rpc.ErrEnded)
	require.ErrorIs(t, s.Notify(t.Context(), "note", nil), rpc.ErrEnded)
}

func TestACP03_AClosedInputIsAnErrorAndNoCrash(t *testing.T) {
	t.Parallel()
	s := connect(t, rpc.Config{Handler: &log{}})
	require.NoError(t, s.inF.Close())
	_, err := s.Call(t.Context(), "ask", strings.Repeat("x", 1<<20))
	require.ErrorIs(t, err, rpc.ErrRefused)
	require.ErrorIs(t, s.end(), rpc.ErrRefused)
}

func TestACP03_AnAgentThatDoesNotReadEndsThePeer(t *testing.T) {
	t.Parallel()
	s := connect(t, rpc.Config{Handler: &log{}, WriteTimeout: 100 * time.Millisecond})
	_, err := s.Call(t.Context(), "ask", strings.Repeat("x", 1<<20))
	require.ErrorIs(t, err, rpc.ErrStalled)
	require.ErrorIs(t, s.end(), rpc.ErrStalled)
}

func TestAFullPipeDoesNotStopReading(t *testing.T) {
	t.Parallel()
	noted := make(chan struct{})
	got := &log{on: func(_ string, _ json.RawMessage, reply rpc.Reply) { reply(nil, nil); close(noted) }}
	s := connect(t, rpc.Config{Handler: got, WriteTimeout: time.Hour})
	call := s.call(t.Context(), "ask", strings.Repeat("x", 1<<20)) // more than a pipe holds
	s.say(`{"jsonrpc":"2.0","id":1,"method":"quick"}` + "\n")
	select {
	case <-noted:
	case <-time.After(patience):
		require.FailNow(t, "the reader waits for the writer")
	}
	s.Close()
	require.ErrorIs(t, s.wait(call).err, rpc.ErrClosed)
}
