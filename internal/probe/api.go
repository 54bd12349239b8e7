package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

// newClient makes one that gives each request that needs it a connection of its own.
// HTTP/2 would put observers on one connection, where one that does not read can hold up
// the others within this very process.
func newClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 4,
			Protocols:           http1(),
		},
	}
}

func http1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}

// statusError is an answer other than the one that was wanted.
type statusError struct {
	status  int
	code    string        // of the problem, "" where there was none
	excerpt string        // the beginning of what it said
	after   time.Duration // how long to stay away, as asked
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("HTTP %d", e.status)
	if e.code != "" {
		s += fmt.Sprintf(" %.40q", e.code)
	}
	if e.excerpt != "" {
		s += ": " + e.excerpt
	}
	return s
}

// Is makes a 401 match ErrUnauthenticated.
func (e *statusError) Is(target error) bool {
	return target == ErrUnauthenticated && e.status == http.StatusUnauthorized
}

func refusal(resp *http.Response) *statusError {
	e := &statusError{status: resp.StatusCode}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // half an explanation is better than none
	var p struct{ Code, Title, Detail string }
	if json.Unmarshal(body, &p) == nil && (p.Code != "" || p.Title != "") {
		e.code = p.Code
		if e.excerpt = p.Detail; e.excerpt == "" {
			e.excerpt = p.Title
		}
		e.excerpt = fmt.Sprintf("%.160q", e.excerpt)
	} else if len(body) > 0 {
		e.excerpt = fmt.Sprintf("%.160q", body)
	}
	if d, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil && d > 0 {
		e.after = d
	}
	return e
}

// request makes a request to the deployment.
func (p *prober) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(p.cfg.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range p.cfg.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", "rejoin-probe")
	if p.cfg.Token != nil {
		token, err := p.cfg.Token(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errToken, err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// call makes one request whose answer must have the given status, and reads it as JSON.
func (p *prober) call(ctx context.Context, path string, header http.Header, body []byte, want int, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Patience, fmt.Errorf("%w within %v", errNoAnswer, p.cfg.Patience))
	defer cancel()
	req, err := p.request(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return refusal(resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return because(ctx, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the answer of POST %s is %.80q: %w", path, data, err)
	}
	return nil
}

// snapshot gets the run without SSE. It returns errIdle where it is gone.
func (p *prober) snapshot(ctx context.Context, etag string) (consumer.RunSnapshot, error) {
	c := &consumer.Client{BaseURL: p.cfg.URL, HTTP: p.client, Header: p.cfg.Header, Token: p.cfg.Token, HeaderTimeout: p.cfg.Patience,
		IdleTimeout: p.cfg.Patience, MaxMessage: maxAnswer}
	s, err := c.Snapshot(ctx, p.run, etag)
	var status *consumer.HTTPError
	switch {
	case errors.As(err, &status) && status.Status == http.StatusNotFound:
		return s, errIdle
	case err != nil:
		return s, fmt.Errorf("GET %s/snapshot: %w", runPath(p.run), because(ctx, err))
	case s.RunID != p.run:
		return s, fmt.Errorf("a snapshot of the run %.60q", s.RunID)
	}
	return s, p.plan.checkSnapshot(s.Seq, s.Events)
}

func runPath(run subjects.RunID) string { return "/runs/" + url.PathEscape(string(run)) }

// because prefers the reason for which ctx ended to the error that this led to.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err // the URL is known, and may hold a password
	}
	return err
}
