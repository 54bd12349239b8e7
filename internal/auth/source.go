package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// source is where a document with keys comes from.
type source struct {
	name  string // for the log; without what may be secret in it
	fetch func(context.Context) ([]byte, error)
	use   purpose
}

// maxDocument bounds a document with keys: a hundred large ones fit.
const maxDocument = 256 << 10

// fetchTimeout bounds one attempt to have the document.
const fetchTimeout = 5 * time.Second

func (s source) load(ctx context.Context) (*keyset, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	doc, err := s.fetch(ctx)
	if err != nil {
		return nil, err
	}
	set, err := parseKeys(doc, s.use)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return set, nil
}

func fileSource(path string, use purpose) source {
	return source{name: path, use: use, fetch: func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%w: %s is a directory", ErrKeys, path)
		}
		return bounded(f, path)
	}}
}

// urlSource fetches over HTTPS, or over HTTP where that is allowed: whoever can change
// the answer on its way decides who everybody is.
func urlSource(address string, client *http.Client, plain bool) (source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return source{}, fmt.Errorf("%w: JWKSURL is no URL; allowed are https://host/path and, on this machine, http://", ErrConfig)
	}
	if u.Scheme == "http" && !plain && !loopback(u.Hostname()) {
		return source{}, fmt.Errorf("%w: JWKSURL is http://, so that anybody on the way could change the keys; allowed are https:// and http:// to this machine", ErrConfig)
	}
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSHandshakeTimeout:    fetchTimeout,
			MaxResponseHeaderBytes: 32 << 10,
			DisableKeepAlives:      true, // once a minute: nothing is worth keeping open
		}}
	}
	own := *client
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > 3 || req.URL.Scheme != via[0].URL.Scheme {
			return http.ErrUseLastResponse
		}
		return nil
	}
	name := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	return source{name: name, use: forAnyone, fetch: func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: JWKSURL", ErrConfig)
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		resp, err := own.Do(req)
		if err != nil {
			var e *url.Error
			if errors.As(err, &e) {
				err = e.Err // without the address, which may have a secret in it
			}
			return nil, fmt.Errorf("%w: fetching %s: %w", ErrKeys, name, err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%w: %s answers with status %d", ErrKeys, name, resp.StatusCode)
		}
		return bounded(resp.Body, name)
	}}, nil
}

func bounded(r io.Reader, name string) ([]byte, error) {
	doc, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%w: reading %s: %w", ErrKeys, name, err)
	}
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("%w: %s is larger than %d bytes", ErrKeys, name, maxDocument)
	}
	return doc, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
