package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// caller sends the requests of one stream, with its token. Not safe for concurrent use.
type caller struct {
	client Client // settled
	token  string
	stale  bool // the token was refreshed for a 401 and nothing was accepted since
}

// do sends a request, once more with a fresh token when the answer is 401.
func (c *caller) do(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	if c.client.Token != nil && c.token == "" {
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
	}
	for {
		req, err := http.NewRequestWithContext(ctx, method, c.client.BaseURL+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		for _, h := range []http.Header{c.client.Header, header} {
			for name, values := range h {
				req.Header[http.CanonicalHeaderKey(name)] = values
			}
		}
		if c.client.Token != nil {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		resp, err := c.client.HTTP.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusUnauthorized || c.client.Token == nil || c.stale {
			c.stale = c.stale && resp.StatusCode >= 300
			return resp, nil
		}
		discard(resp)
		c.stale = true
		if err := c.refresh(ctx); err != nil {
			return nil, err
		}
	}
}

func (c *caller) refresh(ctx context.Context) error {
	token, err := c.client.Token(ctx)
	if err != nil {
		c.token = ""
		return fmt.Errorf("token: %w", err)
	}
	c.token = token
	return nil
}

// discard lets the connection be used again, if the rest of the answer is short.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody)
	_ = resp.Body.Close()
}

// readError turns an answer into the error it stands for, and closes it.
func readError(resp *http.Response) *HTTPError {
	defer discard(resp)
	e := &HTTPError{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // half an explanation is better than none
	var problem struct {
		Code   string `json:"code"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); {
	case (kind == "application/problem+json" || kind == "application/json") && json.Unmarshal(body, &problem) == nil:
		e.Code, e.Title, e.Detail = problem.Code, problem.Title, problem.Detail
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		e.Title, e.Detail = "redirect not followed", resp.Header.Get("Location")
	default:
		e.Title, e.Detail = http.StatusText(resp.StatusCode), head(body, 200)
	}
	return e
}

// head is the first n bytes of b or a little less, without half a character.
func head(b []byte, n int) string {
	if len(b) > n {
		for n > 0 && !utf8.RuneStart(b[n]) {
			n--
		}
		b = b[:n]
	}
	return string(bytes.TrimSpace(b))
}

// retryAfter reads a Retry-After header, which holds seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
