package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// api sends a producer's requests to a relay.
type api struct {
	base     string
	log      *slog.Logger
	patience time.Duration // how long to try again without getting further
	// token gives the credential of each request; nil means none.
	token func(context.Context) (string, error)

	client *http.Client
}

// answerTime bounds how long one answer may take. Storing can take as long as the
// broker is away, and then the request is better sent again.
const answerTime = 30 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

func (a *api) http() *http.Client {
	if a.client == nil {
		a.client = &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
				DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext},
		}
	}
	return a.client
}

func (a *api) close() { a.http().CloseIdleConnections() }

// problemError is an answer that says what went wrong. Its words come from outside.
type problemError struct {
	Status int
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Line   int    `json:"line"`   // of the request's body, 0 where none is at fault
	RunID  string `json:"run_id"` // of already_streaming

	after time.Duration // how long to stay away, as asked
}

func (e *problemError) Error() string {
	words := e.Detail
	if words == "" {
		words = e.Title
	}
	if e.Code != "" {
		words = e.Code + ": " + words
	}
	return fmt.Sprintf("HTTP %d: %s", e.Status, words)
}

// errNoRelay is wrapped by the error of an answer that no relay gives.
var errNoRelay = errors.New("is a relay there?")

// temporary says whether sending the same again may help.
func temporary(err error) bool {
	var p *problemError
	if errors.Is(err, errNoRelay) || errors.Is(err, errInput) {
		return false
	}
	if errors.As(err, &p) {
		return p.Status >= 500 || p.Status == http.StatusTooManyRequests || p.Status == http.StatusRequestTimeout
	}
	return err != nil
}

// post sends one request and reads its answer into out.
func (a *api) post(ctx context.Context, path string, header http.Header, body io.Reader, out any) error {
	return a.send(ctx, http.MethodPost, path, header, body, out)
}

func (a *api) send(ctx context.Context, method, path string, header http.Header, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(a.base, "/")+path, body)
	if err != nil {
		return err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if a.token != nil {
		token, err := a.token(ctx)
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.http().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return readProblem(resp, data)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			return fmt.Errorf("the answer of %s is no JSON: %w %w", a.base, errNoRelay, err)
		}
	}
	return nil
}

func readProblem(resp *http.Response, data []byte) error {
	p := &problemError{Title: http.StatusText(resp.StatusCode)}
	_ = json.Unmarshal(data, p) // what is no problem has its status
	p.Status = resp.StatusCode
	if s, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16); err == nil {
		p.after = min(time.Duration(s)*time.Second, time.Minute)
	}
	return p
}

// call is post for a small request that may be repeated.
func (a *api) call(ctx context.Context, path string, request, out any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return a.repeat(ctx, func(ctx context.Context) error {
		return a.post(ctx, path, http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(body), out)
	})
}

// repeat sends a request until it is answered, or nothing but failures came for as
// long as patience lasts.
func (a *api) repeat(ctx context.Context, send func(context.Context) error) error {
	t := a.tries()
	for {
		one, cancel := context.WithTimeout(ctx, answerTime)
		err := send(one)
		cancel()
		if err == nil || !t.again(ctx, err) {
			return err
		}
	}
}

// start starts a run. The token makes a repetition give the same run.
func (a *api) start(ctx context.Context, o publishOptions) (run string, err error) {
	request := map[string]string{"chat_id": o.chat, "on_active": o.active, "client_token": rand.Text()}
	for name, value := range map[string]string{"owner": o.owner, "kind": o.kind} {
		if value != "" {
			request[name] = value
		}
	}
	var got struct {
		RunID string `json:"run_id"`
	}
	err = a.call(ctx, "/runs", request, &got)
	var p *problemError
	if errors.As(err, &p) && p.Code == "already_streaming" {
		return "", fmt.Errorf("%w: %s (--on-active supersede takes the chat)", err, p.RunID)
	}
	if err == nil && got.RunID == "" {
		err = fmt.Errorf("the answer of %s names no run: %w", a.base, errNoRelay)
	}
	return got.RunID, err
}

// stored is the answer to an events request.
type stored struct {
	Accepted int    `json:"accepted"`
	LastSeq  uint64 `json:"last_seq"`
}

func runPath(run string) string { return "/runs/" + url.PathEscape(run) }

func eventsPath(run string) string { return runPath(run) + "/events" }

// lastSeq asks for the seq of the run's last event, by publishing none.
func (a *api) lastSeq(ctx context.Context, run string) (uint64, error) {
	var got stored
	err := a.repeat(ctx, func(ctx context.Context) error {
		return a.post(ctx, eventsPath(run), nil, http.NoBody, &got)
	})
	return got.LastSeq, err
}

// chatOf asks which chat a run is in.
func (a *api) chatOf(ctx context.Context, run string) (string, error) {
	var got struct {
		ChatID string `json:"chat_id"`
	}
	err := a.repeat(ctx, func(ctx context.Context) error {
		return a.send(ctx, http.MethodGet, runPath(run), nil, http.NoBody, &got)
	})
	return got.ChatID, err
}

// endRequest is how a run ends.
type endRequest struct {
	Persisted bool   `json:"persisted"`
	Reason    string `json:"reason"`
}

func (a *api) end(ctx context.Context, run string, e endRequest) error {
	return a.call(ctx, runPath(run)+"/end", e, nil)
}
