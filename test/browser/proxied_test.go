package browser_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/harness"
)

// startNginx boots nginx as the test's own process before a relay, with nginx's own defaults (buffering on, HTTP/1.0 towards the relay),
// compression, and little patience, and says where it is.
func startNginx(t *testing.T, relay string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	dir, addr := t.TempDir(), harness.FreeAddr(t)
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp.WriteString("\t" + kind + "_temp_path " + dir + "/" + kind + ";\n")
	}
	conf := `daemon off;
master_process off;
pid ` + dir + `/nginx.pid;
error_log ` + dir + `/error.log info;
events {}
http {
` + temp.String() + `	server {
		listen ` + addr + `;
		access_log off;
		gzip on;
		gzip_types *;
		gzip_min_length 0;
		gzip_proxied any;
		location / {
			proxy_pass ` + relay + `;
			proxy_read_timeout 5s;
		}
	}
}
`
	file := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
	harness.Spawn(t, exec.Command(path, "-p", dir, "-c", file, "-e", filepath.Join(dir, "error.log")))
	harness.Eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + addr
}

// PROXY-01, PROXY-02: through an nginx that buffers, compresses and has little patience, events come as they are said, and
// silence is no break.
func TestPROXY01_BufferingCompressionSilence(t *testing.T) {
	t.Parallel()
	screen(t)
	cfg := harness.RelayConfig{}
	cfg.Relay.KeepAlive = 2 * time.Second
	r := newRig(t, rigConfig{relay: cfg, files: client(t)})
	r.site.point(t, startNginx(t, r.relays[0].URL))
	r.play("proxied", nil)
}

// UNI-02: an answer that arrives byte by byte, through every character.
func TestUNI02_ByteByByte(t *testing.T) {
	t.Parallel()
	screen(t)
	r := newRig(t, rigConfig{files: client(t)})
	r.site.byteByByte()
	r.play("bytes", nil)
}
