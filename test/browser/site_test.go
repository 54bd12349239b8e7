package browser_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/test/proxy"
)

// site is what a browser connects to: HTTP/1.1 in clear text, as a load balancer before relays. It has a TCP proxy before
// it that can be cut, counts connections and requests, answers in the relay's place when it is told to, and serves
// files of its own under /fixture/.
type site struct {
	*proxy.Proxy
	url   string
	files map[string]file
	proxy *httputil.ReverseProxy

	mu     sync.Mutex
	target *url.URL
	conns  map[net.Conn]bool
	most   int // connections at once
	open   map[string]int
	peak   map[string]int // requests at once, by path
	seen   []passed
	faults []*fault
}

// file is what the site serves itself.
type file struct {
	kind string // the Content-Type
	body []byte
}

// passed is a request that came by.
type passed struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
	Auth   string `json:"auth"`
	Status int    `json:"status"` // 0 before its answer has begun
}

// fault is an answer in the relay's place: to the next so many requests whose path begins so.
type fault struct {
	Path   string            `json:"path"`
	Times  int               `json:"times"`
	Status int               `json:"status"` // 0: the connection is broken off, after the relay has answered where Lose is true
	Lose   bool              `json:"lose"`   // the relay gets the request, and its answer is lost
	Hang   bool              `json:"hang"`   // there is no answer at all, until the client leaves
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
}

// newSite is a site before the relay at target.
func newSite(t *testing.T, target string, files map[string]file) *site {
	t.Helper()
	s := &site{files: files, conns: map[net.Conn]bool{}, open: map[string]int{}, peak: map[string]int{}}
	s.point(t, target)
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	s.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			s.mu.Lock()
			r.SetURL(s.target)
			s.mu.Unlock()
			r.Out.Host = r.In.Host // the relay and its pages are of this origin
			r.SetXForwarded()
		},
		FlushInterval: -1, Transport: transport, ErrorLog: log.New(verbose(t), "site: ", log.Lmicroseconds),
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: s, ConnState: s.count, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(ln)
	}()
	s.Proxy, err = proxy.Start(ln.Addr().String())
	require.NoError(t, err)
	s.url = "http://" + s.Addr()
	t.Cleanup(func() {
		s.Close()
		_ = server.Close()
		<-served
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = server.Shutdown(ctx)
		transport.CloseIdleConnections()
	})
	return s
}

// byteByByte makes every answer arrive one byte at a time. It has to be called before the site is used.
func (s *site) byteByByte() {
	s.proxy.ModifyResponse = func(r *http.Response) error {
		r.Body = struct {
			io.Reader
			io.Closer
		}{iotest.OneByteReader(r.Body), r.Body}
		return nil
	}
}

// point makes the site pass requests on to another relay from now on. Streams that are open stay where they are.
func (s *site) point(t *testing.T, target string) {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = u
}

// fail adds a fault.
func (s *site) fail(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// count keeps the number of connections.
func (s *site) count(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = true
		s.most = max(s.most, len(s.conns))
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// kept is how much of a body is shown.
const kept = 64 << 10

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f, ok := s.files[r.URL.Path]; ok {
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Cache-Control", "no-cache") // not no-store, which would keep pages out of the browser's back/forward cache
		_, _ = w.Write(f.body)
		return
	}
	head, _ := io.ReadAll(io.LimitReader(r.Body, kept))
	rest := r.Body
	if r.Body = io.NopCloser(bytes.NewReader(head)); len(head) == kept { // nothing is asked of a body that is over: it may be closed, once there is an answer
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(head), rest))
	}
	i, f := s.begin(r, head)
	defer s.end(r.URL.Path)
	out := &watched{w, func(status int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen[i].Status == 0 {
			s.seen[i].Status = status
		}
	}}
	switch {
	case f == nil:
		s.proxy.ServeHTTP(out, r)
	case f.Hang:
		<-r.Context().Done()
	case f.Lose:
		s.proxy.ServeHTTP(nowhere{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case f.Status == 0:
		panic(http.ErrAbortHandler)
	default:
		for name, value := range f.Header {
			out.Header().Set(name, value)
		}
		out.WriteHeader(f.Status)
		_, _ = io.WriteString(out, f.Body)
	}
}

func (s *site) begin(r *http.Request, head []byte) (int, *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.Path
	s.open[path]++
	s.peak[path] = max(s.peak[path], s.open[path])
	s.seen = append(s.seen, passed{Method: r.Method, Path: r.URL.RequestURI(), Body: string(head), Auth: r.Header.Get("Authorization")})
	for _, f := range s.faults {
		if f.Times > 0 && strings.HasPrefix(path, f.Path) {
			f.Times--
			return len(s.seen) - 1, f
		}
	}
	return len(s.seen) - 1, nil
}

func (s *site) end(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[path]--
}

// traffic is what has come by.
type traffic struct {
	Connections int            `json:"connections"` // now
	Most        int            `json:"most"`        // at once
	Open        map[string]int `json:"open"`
	Peak        map[string]int `json:"peak"`
	Requests    []passed       `json:"requests"`
}

func (s *site) traffic() traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := traffic{Connections: len(s.conns), Most: s.most, Open: map[string]int{}, Peak: map[string]int{}, Requests: slices.Clone(s.seen)}
	for path, n := range s.open {
		all.Open[path] = n
	}
	for path, n := range s.peak {
		all.Peak[path] = n
	}
	return all
}

// forget begins to count anew.
func (s *site) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = len(s.conns)
	s.peak = map[string]int{}
	for path, n := range s.open {
		s.peak[path] = n
	}
	for i := range s.seen { // those under way still say how they are answered
		s.seen[i].Path = ""
	}
	s.faults = nil
}

// watched tells the status of an answer.
type watched struct {
	http.ResponseWriter
	status func(int)
}

func (w *watched) WriteHeader(status int) {
	w.status(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(b []byte) (int, error) {
	w.status(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap lets answers be flushed.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// nowhere loses an answer.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Flush()                      {}

// actions are what a script may ask of a site.
func (s *site) actions(targets ...string) actions {
	var release func()
	return actions{
		"cut":     func(ask) any { s.Cut(); return nil },
		"silence": func(ask) any { s.Silence(); return nil },
		"refuse": func(a ask) any { // new connections end at once
			var yes bool
			a.into(&yes)
			s.Refuse(yes)
			return nil
		},
		"hold": func(a ask) any { // what comes down is kept back
			var yes bool
			a.into(&yes)
			if release != nil {
				release()
			}
			if release = nil; yes {
				release = s.Hold(proxy.Down)
			}
			return nil
		},
		"point": func(a ask) any { // requests go to the relay of that number
			var i int
			a.into(&i)
			s.point(a.t, targets[i])
			return nil
		},
		"fail": func(a ask) any {
			f := fault{Times: 1}
			a.into(&f)
			s.fail(f)
			return nil
		},
		"traffic": func(ask) any {
			all := s.traffic()
			all.Requests = slices.DeleteFunc(all.Requests, func(p passed) bool { return p.Path == "" })
			return all
		},
		"forget": func(ask) any { s.forget(); return nil },
	}
}
