package consumer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Client watches runs over HTTP. It is configuration only: it holds no
// connection, must not be changed while in use, and may be used concurrently.
type Client struct {
	BaseURL string // required: http:// or https://, with the path under which the relay is mounted

	// HTTP sends the requests; nil means a client of this package's own. Its
	// Timeout is not used, since it would end streams in the middle; how long
	// an answer may take is HeaderTimeout. Redirects are followed only within
	// the scheme and host of BaseURL and only when they keep the method,
	// whatever its CheckRedirect says.
	HTTP   *http.Client
	Header http.Header // sent with every request

	// Token, if set, gives the bearer token. It is called before a stream's
	// first request and once more for each 401, whose request is then repeated
	// with the new token; a second 401 in a row is final. It is never called
	// twice at once for one stream, and should give up when its context ends.
	Token func(context.Context) (string, error)

	// MaxAttempts is how many attempts in a row may bring nothing before a
	// stream gives up with ErrInterrupted; 0 means 5. An attempt brings
	// something when it moves the cursor to where it has never been, or stays
	// up, with bytes arriving, for half a minute: a relay may close streams by
	// age, and a run may be silent for longer than five such lives.
	MaxAttempts int
	Backoff     Backoff // the wait between attempts; the zero value is fine

	HeaderTimeout time.Duration // how long an answer may take, on top of the wait asked for; 0 means 15 s
	IdleTimeout   time.Duration // how long a stream may be silent; relays send a comment every 15 s; 0 means 45 s
	MaxMessage    int           // bytes of one message or snapshot; 0 means DefaultMaxMessage
	Logger        *slog.Logger  // nil means silent
}

const (
	defaultAttempts      = 5
	defaultHeaderTimeout = 15 * time.Second
	defaultIdleTimeout   = 45 * time.Second
)

// settle returns a copy of c with every default filled in.
func (c *Client) settle() (Client, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") ||
		base.RawQuery != "" || base.Fragment != "" {
		return Client{}, fmt.Errorf("base URL %.200q: want http://host[:port][/path] or https://…", c.BaseURL)
	}
	out := *c
	out.BaseURL = strings.TrimRight(c.BaseURL, "/")
	out.HTTP = settleHTTP(c.HTTP)
	out.MaxAttempts = cmp.Or(max(0, c.MaxAttempts), defaultAttempts)
	out.HeaderTimeout = cmp.Or(max(0, c.HeaderTimeout), defaultHeaderTimeout)
	out.IdleTimeout = cmp.Or(max(0, c.IdleTimeout), defaultIdleTimeout)
	out.MaxMessage = cmp.Or(max(0, c.MaxMessage), DefaultMaxMessage)
	if c.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out, nil
}

func settleHTTP(given *http.Client) *http.Client {
	if given == nil {
		given = ownHTTP()
	}
	out := *given
	out.Timeout = 0
	out.CheckRedirect = stayHome
	return &out
}

// ownHTTP is shared by all clients that bring none, so that their connections are too.
var ownHTTP = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     time.Minute,
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
	}}
})

// stayHome lets a request be redirected only within scheme and host, so that no
// header reaches another one, and only with its method, so that no POST turns
// into a GET that means something else. Others come back as the 3xx they are.
func stayHome(req *http.Request, via []*http.Request) error {
	from := via[0]
	if req.URL.Scheme != from.URL.Scheme || req.URL.Host != from.URL.Host || req.Method != from.Method || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}
