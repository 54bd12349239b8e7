package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/producer/acp"
)

var fileScripts = map[string]func(*scripted){
	// requests makes the requests that its prompt lists, one after the other, and says
	// what it got.
	"requests": func(a *scripted) {
		m := a.hello()
		for {
			var all []request
			_ = json.Unmarshal([]byte(asked(m)), &all)
			got := make([]response, len(all))
			open := 0
			wait := func() {
				r := a.hear()
				var i int
				_ = json.Unmarshal(r.ID, &i)
				got[i] = response{Result: r.Result, Error: r.Error}
				open--
			}
			for i, r := range all {
				a.request(i, r.Method, r.Params)
				for open++; open > 0 && !r.Later; {
					wait()
				}
			}
			for open > 0 {
				wait()
			}
			b, _ := json.Marshal(got)
			a.write(a.text(string(b)))
			a.done(m, "end_turn")
			m = a.prompt()
		}
	},
}

// request is one of the agent. Later ones are not waited for before the next.
type request struct {
	Method string
	Params object
	Later  bool
}

type response struct {
	Result json.RawMessage `json:",omitempty"`
	Error  json.RawMessage `json:",omitempty"`
}

func (r response) String() string { return string(r.Result) + string(r.Error) }

// requests has the agent make requests and gives what it gets.
func requests(t *testing.T, a *acp.Agent, all ...request) []response {
	t.Helper()
	b, err := json.Marshal(all)
	require.NoError(t, err)
	r := newTurn(t, "c", string(b))
	r.req.RunID = "run"
	var got []response
	require.NoError(t, json.Unmarshal([]byte(r.finished(a)), &got))
	require.Len(t, got, len(all))
	return got
}

// rooted makes an agent that may use files and terminals in a folder.
func rooted(t *testing.T) (a *acp.Agent, root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.Mkdir(root, 0o755))
	return newAgent(t, "requests", func(c *acp.Config) { c.Root = root }), root
}

func reading(path string) request {
	return request{Method: "fs/read_text_file", Params: object{"path": path}}
}

func writing(path, content string) request {
	return request{Method: "fs/write_text_file", Params: object{"path": path, "content": content}}
}

func TestFilesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	a, root := rooted(t)
	part := func(line, limit int) request {
		return request{Method: "fs/read_text_file", Params: object{"path": root + "/a/b.txt", "line": line, "limit": limit}}
	}
	got := requests(t, a,
		writing(root+"/a/b.txt", "a much longer text than the one after it\n\n\n"), writing(root+"/a/b.txt", "1\n2\n3"), reading(root+"/a/b.txt"),
		part(2, 1), part(0, 2), part(3, 9), part(4, 1), part(4_000_000_000, 4_000_000_000), part(1, 0),
		reading(root+"/a/../a/./b.txt"), reading(root+"/none.txt"), writing(root+"/empty", ""), reading(root+"/empty"))
	for i, want := range []string{`{}`, `{}`, `{"content":"1\n2\n3"}`,
		`{"content":"2\n"}`, `{"content":"1\n2\n"}`, `{"content":"3"}`, `{"content":""}`, `{"content":""}`, `{"content":""}`,
		`{"content":"1\n2\n3"}`, ``, `{}`, `{"content":""}`} {
		require.Equal(t, want, string(got[i].Result), "%d: %s", i, got[i])
	}
	require.Contains(t, got[10].String(), "-32002")
	b, err := os.ReadFile(filepath.Join(root, "a", "b.txt"))
	require.NoError(t, err)
	require.Equal(t, "1\n2\n3", string(b))
}

func TestNoFileOutsideOfTheRootIsReached(t *testing.T) {
	t.Parallel()
	a, root := rooted(t)
	outside := filepath.Join(filepath.Dir(root), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("SECRET"), 0o600))
	require.NoError(t, os.Mkdir(root+"-too", 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "link")))
	require.NoError(t, os.Symlink("../secret", filepath.Join(root, "relative")))
	require.NoError(t, os.Symlink("..", filepath.Join(root, "up")))
	require.NoError(t, os.Symlink("inside", filepath.Join(root, "fine")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "inside"), []byte("ok"), 0o600))
	var all []request
	for _, path := range []string{outside, root + "/../secret", root + "/link", root + "/relative", root + "/up/secret", "secret", "../secret", "", root + "-too/x", "/etc/passwd", root + "/up/new", root} {
		all = append(all, reading(path), writing(path, "OVERWRITTEN"), request{Method: "terminal/create", Params: object{"command": "pwd", "cwd": path}})
	}
	for i, got := range requests(t, a, all...) {
		if all[i].Params["cwd"] == root || all[i].Params["cwd"] == "" { // where it would be anyway
			require.Contains(t, got.String(), "terminalId")
			continue
		}
		require.NotEmpty(t, got.Error, "%v: %s", all[i], got)
		require.NotContains(t, got.String(), "SECRET")
	}
	b, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "SECRET", string(b))
	require.NoFileExists(t, filepath.Join(filepath.Dir(root), "new"))
	require.NoFileExists(t, root+"-too/x")
	require.JSONEq(t, `{"content":"ok"}`, requests(t, a, reading(root+"/fine"))[0].String())
}

func TestWhatIsNoTextFileIsNotRead(t *testing.T) {
	t.Parallel()
	a, root := rooted(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "binary"), []byte("a\xffb"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "large"), make([]byte, 4<<20+1), 0o600))
	for _, got := range requests(t, a, reading(root+"/fifo"), writing(root+"/fifo", "x"), reading(root+"/binary"), reading(root+"/large"),
		reading(root), writing(root+"/x", strings.Repeat("x", 4<<20+1)), writing(root+"/binary/x", ""),
		request{Method: "fs/read_text_file", Params: object{"path": 7}}, request{Method: "fs/write_text_file", Params: object{"path": root + "/y"}}) {
		require.NotEmpty(t, got.Error, got)
	}
	require.NoFileExists(t, filepath.Join(root, "x"))
	require.NoFileExists(t, filepath.Join(root, "y"))
}

func create(command string, args ...string) request {
	return request{Method: "terminal/create", Params: object{"command": command, "args": args}}
}

func terminal(method string, n int) request {
	return request{Method: "terminal/" + method, Params: object{"terminalId": fmt.Sprintf("terminal-%d", n)}}
}

func TestTerminals(t *testing.T) {
	t.Parallel()
	a, root := rooted(t)
	require.NoError(t, os.Mkdir(filepath.Join(root, "sub"), 0o755))
	env := request{Method: "terminal/create", Params: object{"command": "sh", "args": []string{"-c", "pwd; echo $GREETING >&2; cat; exit 3"}, "cwd": root + "/sub", "env": []object{{"name": "GREETING", "value": "hello"}}}}
	limited := request{Method: "terminal/create", Params: object{"command": "sh", "args": []string{"-c", "printf 'äöü'; sleep 0.2; printf 'xäöü'"}, "outputByteLimit": 5}}
	late := terminal("wait_for_exit", 3)
	late.Later = true
	got := requests(t, a,
		env, terminal("wait_for_exit", 1), terminal("output", 1),
		limited, terminal("wait_for_exit", 2), terminal("output", 2),
		create("sh", "-c", "echo up; sleep 1000"), late, terminal("kill", 3), terminal("output", 3),
		terminal("release", 1), terminal("output", 1),
		create("no-such-command"), terminal("kill", 99), terminal("dance", 1), request{Method: "terminal/create", Params: object{"command": ""}})
	real, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	for i, want := range map[int]string{
		0: `{"terminalId":"terminal-1"}`,
		1: `{"exitCode":3,"signal":null}`,
		2: `{"output":"` + real + `/sub\nhello\n","truncated":false,"exitStatus":{"exitCode":3,"signal":null}}`,
		4: `{"exitCode":0,"signal":null}`,
		5: `{"output":"öü","truncated":true,"exitStatus":{"exitCode":0,"signal":null}}`,
		7: `{"exitCode":null,"signal":"SIGKILL"}`, 8: `{}`, 10: `{}`,
	} {
		require.JSONEq(t, want, got[i].String(), i)
	}
	for i, code := range map[int]string{11: "-32002", 12: "-32603", 13: "-32002", 14: "-32601", 15: "-32603"} {
		require.Contains(t, string(got[i].Error), code, i)
	}
}

func TestTerminalsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	a, root := rooted(t)
	requests(t, a, create("sh", "-c", "sleep 1000 & echo $! > pid; wait"), create("sh", "-c", "trap '' TERM; echo $$ > released; sleep 1000"))
	read := func(name string) (pid string) {
		require.Eventually(t, func() bool {
			b, err := os.ReadFile(filepath.Join(root, name))
			pid = strings.TrimSpace(string(b))
			return err == nil && pid != ""
		}, patience, time.Millisecond)
		return pid
	}
	one, two := read("pid"), read("released")
	require.True(t, lives(t, one))
	requests(t, a, terminal("release", 2))
	gone(t, two)
	require.NoError(t, a.Close(t.Context()))
	gone(t, one)
}

func TestTooManyTerminals(t *testing.T) {
	t.Parallel()
	a, _ := rooted(t)
	var all []request
	for range 17 {
		all = append(all, create("true"))
	}
	got := requests(t, a, append(all, terminal("release", 4), create("true"))...)
	require.Contains(t, string(got[16].Error), "release one first")
	require.JSONEq(t, `{"terminalId":"terminal-17"}`, got[18].String())
}
