package agui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"syscall"
	"time"

	events "github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/tracing"
	"github.com/rejoin/rejoin/producer/agent"
)

// input is the body of the request.
func (a *Agent) input(ctx context.Context, r *agent.Request) ([]byte, error) {
	if events.IsRunInput(r.Input) {
		return r.Input, nil
	}
	var earlier Earlier
	if a.cfg.Earlier != nil {
		var err error
		if earlier, err = a.cfg.Earlier(ctx, r); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			a.cfg.Logger.Warn("the earlier messages of a chat cannot be read", "run", r.RunID, "error", err)
			return nil, ErrEarlier
		}
	}
	return events.RunInput(r.ChatID, string(r.RunID), events.WithState(r.Input, earlier.State), earlier.Messages), nil
}

// An agent that restarts refuses connections for a moment. That is the one failure of
// which it is certain that the agent has not seen the request.
const (
	refusedTries = 6
	refusedWait  = 100 * time.Millisecond // doubled each time: 3 s in all
)

// post makes the request and returns the answer's head.
func (a *Agent) post(ctx context.Context, w *watch, r *agent.Request, body []byte) (*http.Response, error) {
	wait := refusedWait
	for try := 1; ; try++ {
		req, err := a.request(ctx, r, body)
		if err != nil {
			return nil, err
		}
		w.start()
		answer, err := a.cfg.Client.Do(req)
		w.stop()
		switch {
		case err == nil:
			return answer, nil
		case errors.Is(err, ErrRedirect):
			return nil, ErrRedirect
		case !errors.Is(err, syscall.ECONNREFUSED) || try == refusedTries:
			a.cfg.Logger.Warn("the agent cannot be reached", "run", r.RunID, "error", err)
			return nil, ErrUnreachable
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
			wait *= 2
		}
	}
}

func (a *Agent) request(ctx context.Context, r *agent.Request, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: its URL cannot be used", ErrUnreachable)
	}
	for name, value := range forwarded(r.Header) {
		req.Header.Set(name, value)
	}
	for name, values := range a.cfg.Header {
		req.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	tracing.Inject(ctx, req.Header)
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity") // compressors like to hold back what they have
	return req, nil
}

// ownHeaders belong to a connection or to the request that is made here, so that those
// of the client's request say nothing about it.
var ownHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Connection": true, "Content-Encoding": true, "Content-Length": true, "Content-Type": true,
	"Expect": true, "Host": true, "Http2-Settings": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// forwarded is what of a client's headers goes on to the agent.
func forwarded(header map[string]string) map[string]string {
	hop := map[string]bool{}
	for name, value := range header {
		if textproto.CanonicalMIMEHeaderKey(name) == "Connection" {
			for named := range strings.SplitSeq(value, ",") {
				hop[textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(named))] = true
			}
		}
	}
	out := map[string]string{}
	for name, value := range header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !ownHeaders[name] && !hop[name] && sendable(name, value) {
			out[name] = value
		}
	}
	return out
}

// sendable reports whether a header can stand in a request at all.
func sendable(name, value string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return name != ""
}

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

// checkRedirect lets a redirect be followed that repeats the request at the same
// host. Any other would give the conversation and the credentials away, or lose them.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from, to := via[len(via)-1].URL, req.URL
	secure := from.Scheme == to.Scheme || to.Scheme == "https"
	same := from.Host == to.Host || from.Hostname() == to.Hostname() && from.Port() == "" && to.Port() == ""
	if len(via) > maxRedirects || !secure || !same || req.Method != http.MethodPost {
		return ErrRedirect
	}
	return nil
}
