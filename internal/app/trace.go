package app

import (
	"context"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/tracing"
)

// TraceConfig says where spans go. The zero value means what the OTEL_EXPORTER_OTLP_…
// variables say, and without those nowhere.
type TraceConfig struct {
	Endpoint string   // the collector's URL; /v1/traces is added where it has no path
	Ratio    *float64 // of the traces that begin here; nil means OTEL_TRACES_SAMPLER, or all
}

// traceFlush is the longest time that the last spans may take to be sent.
const traceFlush = 2 * time.Second

// traced is the configuration with what records spans. end sends the last ones, at most
// for as long as a part of the grace, or until hurry is closed.
func (c Config) traced(ctx context.Context, service string, hurry <-chan struct{}) (traced Config, end func(), err error) {
	e, err := tracing.Open(ctx, tracing.Config{Endpoint: c.Trace.Endpoint, Ratio: c.Trace.Ratio,
		Service: service, Version: ReadVersion(c.Version).Version, Logger: c.Logger.With("part", "tracing")})
	if err != nil {
		return c, nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c.tracing = e.Provider()
	return c, func() {
		if e == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), min(traceFlush, c.Grace/10))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			select {
			case <-hurry:
				cancel()
			case <-ctx.Done():
			}
		}()
		e.Close(ctx)
		cancel()
		<-stopped
	}, nil
}
