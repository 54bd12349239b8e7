package collector

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one that a collector was sent.
type Span struct {
	Service, Name     string
	Trace, ID, Parent string // in hexadecimal digits; Parent is "" for a root
	Kind              string
	Error             string            // why it failed, "" where it did not
	Text              map[string]string // its attributes that are text
	Numbers           map[string]int64  // and those that are numbers
	From, To          time.Time
}

// Collector takes spans as an OTLP collector over HTTP does.
type Collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []Span
	came  chan struct{}
}

// New starts one that stops with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{came: make(chan struct{})}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in otlp.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &in)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "not spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, res := range in.GetResourceSpans() {
		service := ""
		for _, a := range res.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range res.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := Span{Service: service, Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Kind: strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"),
					Error: s.GetStatus().GetMessage(), Text: map[string]string{}, Numbers: map[string]int64{},
					From: time.Unix(0, int64(s.GetStartTimeUnixNano())), To: time.Unix(0, int64(s.GetEndTimeUnixNano()))}
				for _, a := range s.GetAttributes() {
					one.Text[a.GetKey()] = a.GetValue().GetStringValue()
					one.Numbers[a.GetKey()] = a.GetValue().GetIntValue()
				}
				c.spans = append(c.spans, one)
			}
		}
	}
	close(c.came)
	c.came = make(chan struct{})
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans are those that have come so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Await waits for a span that fits, and fails the test when none comes.
func (c *Collector) Await(t testing.TB, what string, fits func(Span) bool) Span {
	t.Helper()
	over := time.After(2 * time.Minute)
	for {
		c.mu.Lock()
		came := c.came
		i := slices.IndexFunc(c.spans, fits)
		if i >= 0 {
			defer c.mu.Unlock()
			return c.spans[i]
		}
		c.mu.Unlock()
		select {
		case <-came:
		case <-over:
			t.Fatalf("no span came that is %s; those that did: %v", what, c.Spans())
		}
	}
}
