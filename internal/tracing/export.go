package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// ErrConfig is wrapped by Open's error for what cannot work.
var ErrConfig = errors.New("tracing configuration")

// Config says where spans go.
type Config struct {
	// Endpoint is the collector's URL; /v1/traces is added where it has no path. "" means what
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT says, and where they
	// say nothing, nothing is recorded.
	Endpoint string
	// Ratio is the part of the traces that begin here which is recorded, from 0 to 1; nil
	// means what OTEL_TRACES_SAMPLER says, or all. A trace that came along is recorded if
	// whoever began it does.
	Ratio   *float64
	Service string // what the process is called, unless OTEL_SERVICE_NAME says otherwise
	Version string
	Logger  *slog.Logger        // may be nil
	Getenv  func(string) string // nil means os.Getenv; the exporter's own variables are always the process's
}

// Limits of what waits for a collector, and for how long.
const (
	maxQueued     = 2048
	maxBatch      = 512
	batchEvery    = time.Second
	exportTimeout = 10 * time.Second
	complainEvery = time.Minute
)

// Exporter records spans and sends them to a collector. nil records nothing.
type Exporter struct {
	provider *sdk.TracerProvider
	out      *outlet
}

// Open makes an Exporter, nil where none is configured. It does not connect. The error
// wraps ErrConfig.
func Open(ctx context.Context, cfg Config) (*Exporter, error) {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	wanted, err := cfg.check()
	if err != nil || !wanted {
		return nil, err
	}
	var opts []otlptracehttp.Option
	if cfg.Endpoint != "" {
		opts = append(opts, otlptracehttp.WithEndpointURL(withPath(cfg.Endpoint)))
	}
	opts = append(opts, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true,
		InitialInterval: 500 * time.Millisecond, MaxInterval: 5 * time.Second, MaxElapsedTime: exportTimeout}))
	exporter, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	out := &outlet{Exporter: exporter, log: cfg.Logger}
	out.life, out.end = context.WithCancel(context.Background())
	res, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", cfg.Service),
		attribute.String("service.version", cfg.Version)), resource.Environment())
	if err != nil {
		out.end()
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	with := []sdk.TracerProviderOption{sdk.WithResource(res),
		sdk.WithBatcher(out, sdk.WithMaxQueueSize(maxQueued), sdk.WithMaxExportBatchSize(maxBatch),
			sdk.WithBatchTimeout(batchEvery), sdk.WithExportTimeout(exportTimeout))}
	if cfg.Ratio != nil {
		with = append(with, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(*cfg.Ratio))))
	}
	return &Exporter{provider: sdk.NewTracerProvider(with...), out: out}, nil
}

// check says whether anything is to be recorded.
func (c *Config) check() (wanted bool, err error) {
	if c.Ratio != nil && !(*c.Ratio >= 0 && *c.Ratio <= 1) {
		return false, fmt.Errorf("%w: the ratio is %v; allowed are 0 to 1", ErrConfig, *c.Ratio)
	}
	if c.Endpoint != "" && !ValidEndpoint(c.Endpoint) {
		return false, fmt.Errorf("%w: the endpoint is no http or https URL with a host", ErrConfig)
	}
	given := c.Endpoint != "" || c.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || c.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	if !given || strings.EqualFold(c.Getenv("OTEL_SDK_DISABLED"), "true") || c.Endpoint == "" && c.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false, nil
	}
	protocol := c.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = c.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" && c.Endpoint == "" {
		return false, fmt.Errorf("%w: OTEL_EXPORTER_OTLP_PROTOCOL is %.40q; allowed is http/protobuf", ErrConfig, protocol)
	}
	return true, nil
}

// ValidEndpoint says whether a collector's URL can be used.
func ValidEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.Fragment == ""
}

func withPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return s
	}
	u.Path = "/v1/traces"
	return u.String()
}

// Provider is what spans are recorded with; nil where nothing is.
func (e *Exporter) Provider() trace.TracerProvider {
	if e == nil {
		return nil
	}
	return e.provider
}

// Close sends what waits, for as long as ctx allows, and ends the exporter. Spans that end
// afterwards are not recorded.
func (e *Exporter) Close(ctx context.Context) {
	if e == nil {
		return
	}
	// What is being sent is broken off when ctx ends, and the rest is not sent. The SDK's
	// own limit would leave its goroutine behind.
	defer context.AfterFunc(ctx, e.out.end)()
	if err := e.provider.Shutdown(context.WithoutCancel(ctx)); err != nil {
		e.out.complain(err, 0)
	}
	e.out.end()
}

// outlet passes spans on to the collector, and says now and then that it cannot. It
// reports no error, which would go to standard error otherwise.
type outlet struct {
	*otlptrace.Exporter
	log  *slog.Logger
	life context.Context // ends with Close
	end  context.CancelFunc

	mu      sync.Mutex
	last    time.Time
	dropped int
}

// ExportSpans implements the SDK's exporter.
func (o *outlet) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.life, cancel)()
	if err := o.Exporter.ExportSpans(ctx, spans); err != nil {
		o.complain(err, len(spans))
	}
	return nil
}

// complain says what was not taken, at most once in a while.
func (o *outlet) complain(err error, spans int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped += spans
	if time.Since(o.last) < complainEvery {
		return
	}
	o.last = time.Now()
	o.log.Warn("spans did not reach the collector", "spans", o.dropped, "error", withoutURL(err))
	o.dropped = 0
}

// withoutURL is an error of the HTTP client without the URL, which may hold a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
