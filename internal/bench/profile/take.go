package profile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// Taking is a profile under way. One goroutine uses it.
type Taking struct {
	base   string // path and beginning of the files' names
	client *http.Client
}

// Start begins to profile the process that serves at socket. What Stop gets is kept in dir,
// in files whose names begin with name.
func Start(ctx context.Context, socket, dir, name string) (*Taking, error) {
	t := &Taking{base: filepath.Join(dir, name), client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}}
	err := t.keep(ctx, http.MethodGet, "allocs", "allocs.before")
	if err == nil {
		err = t.keep(ctx, http.MethodPost, "start", "")
	}
	if err != nil {
		t.client.CloseIdleConnections()
		return nil, err
	}
	return t, nil
}

// Stop ends the profiles and writes them: cpu, allocs, heap, mutex, block, goroutine.
func (t *Taking) Stop(ctx context.Context) error {
	defer t.client.CloseIdleConnections()
	if err := t.keep(ctx, http.MethodPost, "stop", "cpu"); err != nil {
		return err
	}
	for _, name := range []string{"allocs", "mutex", "block", "goroutine", "heap"} {
		if err := t.keep(ctx, http.MethodGet, name, name); err != nil {
			return err
		}
	}
	return nil
}

// keep asks for something and writes the answer to a file, unless it has no name.
func (t *Taking) keep(ctx context.Context, method, what, file string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("profile %s: %w", what, err)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, method, "http://profile/"+what, nil)
	if err != nil {
		return err
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("%s: %s", resp.Status, said)
	}
	if file == "" {
		return nil
	}
	f, err := os.Create(t.base + "." + file + ".pb.gz")
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
