package edge_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// nginx is one that runs for a test.
type nginx struct {
	testing.TB
	url string
	dir string
}

// bare is a server of nginx's own defaults before a relay: buffering on, HTTP/1.0
// towards the relay. more is added to the server.
func bare(relay, more string) string {
	return `server {
	listen LISTEN;
	access_log DIR/access.log;
	` + more + `
	location / { proxy_pass ` + relay + `; }
}`
}

// startNginx boots nginx as the test's own process, without a master, on a free port,
// which takes the place of LISTEN in what it serves; DIR is a directory of its own.
func startNginx(t testing.TB, serve string) *nginx {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	n := &nginx{TB: t, dir: t.TempDir()}
	addr := harness.FreeAddr(t)
	n.url = "http://" + addr
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp.WriteString("\t" + kind + "_temp_path DIR/" + kind + ";\n")
	}
	conf := strings.NewReplacer("LISTEN", addr, "DIR", n.dir).Replace(`daemon off;
master_process off;
pid DIR/nginx.pid;
error_log DIR/error.log info;
events {}
http {
` + temp.String() + serve + "\n}\n")
	file := filepath.Join(n.dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
	harness.Spawn(t, exec.Command(path, "-p", n.dir, "-c", file, "-e", filepath.Join(n.dir, "error.log")))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("nginx: %s\n%s", n.log("error.log"), n.log("access.log"))
		}
	})
	harness.Eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return n
}

// log is what nginx has written to one of its logs, "" if nothing.
func (n *nginx) log(name string) string {
	b, err := os.ReadFile(filepath.Join(n.dir, name))
	if err != nil && !os.IsNotExist(err) {
		require.NoError(n, err)
	}
	return string(b)
}

// live watches a chat through whatever serves at url. Header holds names and values.
func live(t testing.TB, url, chat string, header ...string) *harness.Conn {
	t.Helper()
	c, err := harness.Ask(t.Context(), http.MethodPost, url+"/chat/live", harness.Live(chat), header...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, http.StatusOK, c.Status)
	require.Equal(t, "text/event-stream", c.Header.Get("Content-Type"))
	require.Equal(t, "no-store, no-transform", c.Header.Get("Cache-Control"))
	return c
}
