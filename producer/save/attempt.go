package save

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rejoin/rejoin/internal/tracing"
)

const (
	userAgent = "rejoin"

	// excerptBytes is how much of an answer is read to explain it.
	excerptBytes = 512
	// restBytes and restTime bound what a good answer's rest may cost; read to its end,
	// the connection can be used again.
	restBytes = 16 << 10
	restTime  = 200 * time.Millisecond
	// maxAfter bounds what a Retry-After may ask where ctx has no deadline.
	maxAfter = time.Hour
)

// againError is a failure after which another attempt may fare better.
type againError struct {
	err   error
	after time.Duration // the receiver asks to stay away for so long
}

func (e *againError) Error() string { return e.err.Error() }
func (e *againError) Unwrap() error { return e.err }

// post makes one attempt. The error is nil, ErrStale, *RefusedError or *againError.
func (w *webhook) post(ctx context.Context, t *Turn, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.AttemptTimeout)
	defer cancel()
	ctx, span := tracing.Child(ctx, "POST", tracing.Client)
	defer span.End()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", userAgent)
	for name, values := range w.cfg.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	tracing.Inject(ctx, req.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", string(t.RunID))
	if w.cfg.Secret != "" {
		req.Header.Set(SignatureHeader, sign(w.cfg.Secret, body, time.Now()))
	}
	resp, err := w.client.Do(req)
	if err != nil {
		span.Fail("no answer")
		return &againError{err: withoutURL(err)}
	}
	defer resp.Body.Close()
	span.Number("http.response.status_code", int64(resp.StatusCode))
	if resp.StatusCode >= http.StatusBadRequest {
		span.Fail("refused")
	}
	return verdict(resp, cancel)
}

// verdict is what an answer means. cancel breaks off the reading of its body.
func verdict(resp *http.Response, cancel func()) error {
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		// It is saved, whatever becomes of the rest.
		over := time.AfterFunc(restTime, cancel)
		_, _ = io.CopyN(io.Discard, resp.Body, restBytes)
		over.Stop()
		return nil
	case code == http.StatusConflict, code == http.StatusGone, code == http.StatusPreconditionFailed:
		return fmt.Errorf("%w (HTTP %d)", ErrStale, code)
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return &againError{
			err:   errors.New(answerText(code, excerpt(resp.Body, cancel))),
			after: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
		}
	default:
		return &RefusedError{Status: code, Excerpt: excerpt(resp.Body, cancel)}
	}
}

// excerpt is the beginning of an answer on one line, without what would act on a
// terminal or a log.
func excerpt(body io.Reader, cancel func()) string {
	over := time.AfterFunc(restTime, cancel)
	defer over.Stop()
	head, _ := io.ReadAll(io.LimitReader(body, excerptBytes)) // half an explanation is better than none
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, string(head))
	return strings.Join(strings.Fields(clean), " ")
}

// withoutURL takes the URL out of an error, which may carry a secret.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// retryAfter reads a Retry-After header, which holds seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(s)*time.Second, maxAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, at.Sub(now)), maxAfter)
	}
	return 0
}
