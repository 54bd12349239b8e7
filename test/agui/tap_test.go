package agui_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// tap stands between the stock client and a relay. It passes on what it gets as soon as it gets it, keeps it, and says
// how far the relay has come.
type tap struct {
	url    string
	relay  string
	client *http.Transport
	opened chan struct{} // receives when the relay has answered a request
	fed    chan struct{} // receives when the first event of an answer has passed
	admit  chan struct{} // see tapInto

	mu      sync.Mutex
	answers []*answer
}

type answer struct {
	status int
	body   bytes.Buffer // so far
}

// newTap serves in front of the relay at url until the test ends.
func newTap(t *testing.T, url string) *tap {
	t.Helper()
	return tapInto(t, url, nil)
}

// tapInto is a tap that lets a request pass for each value of admit, unless that is nil.
func tapInto(t *testing.T, url string, admit chan struct{}) *tap {
	t.Helper()
	p := &tap{relay: url, admit: admit, client: &http.Transport{DisableCompression: true}, opened: make(chan struct{}, 1<<10), fed: make(chan struct{}, 1<<10)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.pass(w, r); err != nil {
			panic(http.ErrAbortHandler) // the relay broke off: so does this
		}
	}))
	t.Cleanup(p.client.CloseIdleConnections)
	t.Cleanup(server.Close)
	p.url = server.URL + "/chat/live"
	return p
}

func (p *tap) pass(w http.ResponseWriter, r *http.Request) error {
	if p.admit != nil {
		select {
		case <-p.admit:
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, p.relay+r.URL.Path, r.Body)
	if err != nil {
		return err
	}
	request.Header = r.Header.Clone()
	response, err := p.client.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	return p.copy(w, response)
}

func (p *tap) copy(w http.ResponseWriter, response *http.Response) error {
	a := &answer{status: response.StatusCode}
	p.mu.Lock()
	p.answers = append(p.answers, a)
	p.mu.Unlock()
	p.opened <- struct{}{}
	flusher := http.NewResponseController(w)
	fed := false
	for chunk := make([]byte, 32<<10); ; {
		n, err := response.Body.Read(chunk)
		p.mu.Lock()
		a.body.Write(chunk[:n])
		first := !fed && bytes.Contains(a.body.Bytes(), []byte("data:"))
		p.mu.Unlock()
		if _, err := w.Write(chunk[:n]); err != nil {
			return err
		}
		if err := flusher.Flush(); err != nil {
			return err
		}
		if first {
			fed = true
			p.fed <- struct{}{}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answer is what the relay answered to the ith request so far: the status, and the body without its comments.
func (p *tap) answer(t *testing.T, i int) (status int, body string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Less(t, i, len(p.answers))
	var events []byte
	for block := range bytes.SplitAfterSeq(p.answers[i].body.Bytes(), []byte("\n\n")) {
		if !bytes.HasPrefix(block, []byte(":")) {
			events = append(events, block...)
		}
	}
	return p.answers[i].status, string(events)
}
