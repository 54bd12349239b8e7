package save

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// WebhookConfig says where turns are posted and how.
type WebhookConfig struct {
	URL    string      // required: http:// or https://; a user and password in it become basic authentication
	Secret string      // signs the requests, see Verify; "" means that they are not signed
	Header http.Header // sent with every request, such as Authorization

	// Client sends the requests; nil means one of this package's own. Its redirects
	// are never followed, and its Timeout is not used.
	Client *http.Client

	AttemptTimeout time.Duration // how long one answer may take; 0 means 10 s
	MinBackoff     time.Duration // ceiling of the first wait between attempts; 0 means 250 ms
	MaxBackoff     time.Duration // highest ceiling of a wait; 0 means 5 s
	Logger         *slog.Logger  // nil means silent
}

const (
	defaultAttemptTimeout = 10 * time.Second
	defaultMinBackoff     = 250 * time.Millisecond
	defaultMaxBackoff     = 5 * time.Second
)

// reserved are the headers that a webhook sets itself or that belong to the connection.
var reserved = []string{"Content-Type", "Content-Length", "Idempotency-Key", SignatureHeader,
	"Host", "Connection", "Transfer-Encoding", "Trailer", "Te", "Upgrade", "Expect", "Accept-Encoding"}

// NewWebhook returns a Saver that posts each turn as JSON to an application:
//
//	{"tenant","chat_id","owner","turn_id","run_id","kind","generation","reason","started_at","ended_at","input","events":[…]}
//
// with Content-Type application/json, Idempotency-Key (the run id: a receiver that has
// stored it answers 2xx again), User-Agent and, with a secret, Rejoin-Signature.
//
// 2xx means saved. 409, 410 and 412 mean that the receiver's chat has moved on and
// nothing was written: ErrStale. Lost connections, answers that take too long, 408, 425,
// 429 and 5xx are tried again, with growing waits and no sooner than Retry-After asks,
// until ctx ends or Retry-After would outlast it: ErrUnconfirmed. Any other answer is a
// *RefusedError at once. A context without a deadline is kept trying for ever.
//
// The error of NewWebhook wraps ErrConfig.
func NewWebhook(cfg WebhookConfig) (Saver, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		// Not the value: a URL of this kind tends to carry a secret.
		return nil, fmt.Errorf("%w: want a URL such as https://host/path", ErrConfig)
	}
	for name, values := range cfg.Header {
		if err := checkHeader(name, values); err != nil {
			return nil, err
		}
	}
	if cfg.AttemptTimeout < 0 || cfg.MinBackoff < 0 || cfg.MaxBackoff < 0 {
		return nil, fmt.Errorf("%w: want times of 0 or more", ErrConfig)
	}
	w := &webhook{cfg: cfg, log: cfg.Logger, client: &http.Client{}}
	w.cfg.Header = cfg.Header.Clone()
	w.cfg.AttemptTimeout = cmp.Or(cfg.AttemptTimeout, defaultAttemptTimeout)
	w.cfg.MinBackoff = cmp.Or(cfg.MinBackoff, defaultMinBackoff)
	w.cfg.MaxBackoff = max(cmp.Or(cfg.MaxBackoff, defaultMaxBackoff), w.cfg.MinBackoff)
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Client != nil {
		*w.client = *cfg.Client
	} else {
		w.client.Transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:    5 * time.Second,
			IdleConnTimeout:        time.Minute,
			MaxIdleConnsPerHost:    16,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		}
	}
	w.client.Timeout = 0
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w, nil
}

// checkHeader refuses at the start what would fail each request later.
func checkHeader(name string, values []string) error {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return fmt.Errorf("%w: header name %.60q", ErrConfig, name)
		}
	}
	for _, r := range reserved {
		if name == "" || strings.EqualFold(name, r) {
			return fmt.Errorf("%w: the header %.60q cannot be chosen", ErrConfig, name)
		}
	}
	for _, v := range values {
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("%w: a value of the header %s has control characters", ErrConfig, name)
		}
	}
	return nil
}

// webhook is the saver. Nothing of it changes.
type webhook struct {
	cfg    WebhookConfig
	client *http.Client
	log    *slog.Logger
}

// Save posts the turn until it is confirmed or refused, or ctx is done.
func (w *webhook) Save(ctx context.Context, t *Turn) error {
	body, err := encode(t)
	if err != nil {
		return err
	}
	ceiling := w.cfg.MinBackoff
	for attempt := 1; ; attempt++ {
		err := w.post(ctx, t, body)
		var again *againError
		if !errors.As(err, &again) {
			return err
		}
		if ctx.Err() != nil {
			return unconfirmed(ctx.Err(), attempt, again)
		}
		delay := again.after + rand.N(ceiling+1)
		ceiling = min(2*ceiling, w.cfg.MaxBackoff)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < again.after {
			return unconfirmed(fmt.Errorf("the receiver asks to stay away for %v, longer than there is time", again.after), attempt, again)
		}
		w.log.Info("a turn is not saved yet; trying again", "run", t.RunID, "attempt", attempt, "delay", delay, "error", again)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return unconfirmed(ctx.Err(), attempt, again)
		}
	}
}

func unconfirmed(why error, attempts int, last *againError) error {
	return fmt.Errorf("%w: %w (attempts: %d, last: %w)", ErrUnconfirmed, why, attempts, last)
}
