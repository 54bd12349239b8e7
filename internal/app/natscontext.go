package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
)

// natsContext is what matters here of a context of the nats command, as NATS ADR-21
// and the command's own documentation describe it. What it does not name is ignored.
type natsContext struct {
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Token       string `json:"token"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	TLSFirst    bool   `json:"tls_first"`
	InboxPrefix string `json:"inbox_prefix"`
	Domain      string `json:"jetstream_domain"`

	// What would be needed to connect, and is not supported.
	NSC       string `json:"nsc"`
	Socks     string `json:"socks_proxy"`
	UserJWT   string `json:"user_jwt"`
	APIPrefix string `json:"jetstream_api_prefix"`
}

// withContext fills in what the context says and nobody else does. Who connects is one
// thing, and so are a certificate and its key: what the context says of them counts
// only where nothing else is said.
func (c Config) withContext() (Config, error) {
	if c.Conn.Context == "" {
		return c, nil
	}
	found, err := readContext(c.Conn.Context)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrContext, err)
	}
	to := &c.Conn
	if !to.identified() && !strings.Contains(c.NATS, "@") {
		to.Creds, to.NKey = atHome(found.Creds), atHome(found.NKey)
		to.user, to.password, to.token = found.User, found.Password, found.Token
		if to.user == "" {
			to.password = ""
		}
	}
	if to.Cert == "" && to.Key == "" {
		to.Cert, to.Key = atHome(found.Cert), atHome(found.Key)
	}
	fill(&to.CA, atHome(found.CA))
	fill(&to.InboxPrefix, found.InboxPrefix)
	fill(&to.Domain, found.Domain)
	to.TLSFirst = to.TLSFirst || found.TLSFirst
	fill(&c.NATS, found.URL)
	fill(&c.NATS, nats.DefaultURL) // as the nats command does
	return c, nil
}

func fill(p *string, otherwise string) {
	if *p == "" {
		*p = otherwise
	}
}

// readContext reads a context by its name, or by the path of its file.
func readContext(name string) (natsContext, error) {
	var c natsContext
	path, err := contextPath(name)
	if err != nil {
		return c, err
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, fmt.Errorf("there is no context %.100q: %w", name, err)
	case err != nil:
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		// The error of a value would show it, and it may be a password.
		return c, fmt.Errorf("%s is no context of the nats command: it is no JSON object, or a field has the wrong type", path)
	}
	for u := range strings.SplitSeq(c.URL, ",") {
		if _, err := url.Parse(strings.TrimSpace(u)); err != nil { // the error would show a password
			return c, fmt.Errorf("the url of the context in %s is malformed", path)
		}
	}
	return c, c.supported(path)
}

// contextPath is where the nats command keeps a context.
func contextPath(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, ".json") {
		return atHome(name), nil
	}
	if name == "." || name == ".." {
		return "", fmt.Errorf("%q names no context", name)
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("where contexts are kept is not known: %w", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "nats", "context", name+".json"), nil
}

// supported says whether a connection can be made as the context means it.
func (c *natsContext) supported(path string) error {
	var what string
	switch {
	case c.NSC != "":
		what = "takes its credentials from nsc; write them to a file with \"nsc generate creds\" and name that"
	case c.Socks != "":
		what = "connects through a SOCKS proxy, which is not supported"
	case c.UserJWT != "":
		what = "has the user's JWT in it, which is not supported; put it into a file with credentials and name that"
	case c.APIPrefix != "" && c.APIPrefix != "$JS.API" && c.APIPrefix != "$JS."+c.Domain+".API":
		what = "has a prefix for JetStream's API, which is not supported; a domain is"
	case strings.Contains(c.Creds, "://") || strings.Contains(c.NKey, "://"):
		what = "takes its credentials from a service; name a file"
	default:
		return nil
	}
	return fmt.Errorf("the context in %s %s", path, what)
}

// atHome puts the home directory, and variables of the environment, into a path as the
// nats command does.
func atHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == filepath.Separator) {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + rest
		}
	}
	return os.ExpandEnv(path)
}
