package acp_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

var dirtyScripts = map[string]func(*scripted){
	"dirty": func(a *scripted) {
		a.write("\xef\xbb\xbfWelcome to \x1b[1magent\x1b[0m!\r\n\n")
		m := a.hello()
		a.write("thinking...\r\n\x1b[2K\n[1,2]\n{\"level\":\"info\"}\n")
		a.write(a.text("one ") + "{\n\"jsonrpc\": \"2.0\",\n\"method\": \"x\"}\n")
		a.write(strings.TrimSpace(a.text("two ")) + strings.TrimSpace(a.text("three ")) + "\r\n")
		a.write(`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n" + `{"jsonrpc":"2.0","method":"what/ever"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"what/ever"}` + "\n")
		a.answers(1)
		a.done(m, "end_turn")
		a.hear()
	},
	"long line": func(a *scripted) {
		m := a.hello()
		a.write(strings.Replace(a.text("#"), "#", strings.Repeat("x", 9<<20), 1))
		a.done(m, "end_turn")
		a.hear()
	},
	"flood": func(a *scripted) {
		a.hello()
		a.write(a.text("here it comes"))
		part := strings.Repeat("x", 1<<20)
		for range 500 {
			a.write(part)
		}
		select {}
	},
	"stderr flood": func(a *scripted) {
		m := a.hello()
		part := strings.Repeat(strings.Repeat("x", 99)+"\n", 1<<20/100)
		for range 128 {
			_, _ = os.Stderr.WriteString(part)
		}
		a.write(a.text("done"))
		a.done(m, "end_turn")
		a.hear()
	},
}

func TestACP02_DirtyOutput(t *testing.T) {
	t.Parallel()
	text := newTurn(t, "c", "x").finished(newAgent(t, "dirty"))
	require.Contains(t, text, "one two three ")
	require.Contains(t, text, "-32601")
}

func TestACP02_ALongLegalLine(t *testing.T) {
	t.Parallel()
	require.Len(t, newTurn(t, "c", "x").finished(newAgent(t, "long line")), 9<<20)
}

func TestACP02_AFloodEndsThisRunInBoundedMemory(t *testing.T) {
	// Not parallel: it looks at the memory of the whole process.
	other := newAgent(t, "blocked")
	bystander := newTurn(t, "d", "x")
	over := bystander.begin(other)
	bystander.until(1, "acp.permission.request")

	a := newAgent(t, "flood", func(c *acp.Config) { c.MaxLine = 4 << 20 })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := newTurn(t, "c", "x")
	require.ErrorContains(t, r.run(a), "too long: more than 4194304 bytes")
	runtime.ReadMemStats(&after)
	require.Equal(t, "here it comes", r.text())
	require.Equal(t, "agent_output", r.last().Code)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))

	require.Equal(t, []string{"pending"}, map[bool][]string{true: {"pending"}}[len(over) == 0], "the other run goes on")
	bystander.stop(fmt.Errorf("enough"))
	_ = bystander.wait(over)
}

func TestACP02_AFloodOnStandardError(t *testing.T) {
	t.Parallel()
	require.Equal(t, "done", newTurn(t, "c", "x").finished(newAgent(t, "stderr flood")))
}
