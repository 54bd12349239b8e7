package main

import (
	"strconv"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/internal/tracing"
)

// traceFlags say where spans go.
func traceFlags(s *config.Set, c *app.Config) {
	s.Add(config.Text(&c.Trace.Endpoint, "URL", "an http or https URL with a host", tracing.ValidEndpoint), "otlp-endpoint",
		"The OpenTelemetry collector that traces are sent to, as OTLP over HTTP; /v1/traces is added to a URL without\na path. Without it as the OTEL_EXPORTER_OTLP_… variables say, or nowhere. A trace that a request comes in goes\non to the agent in either case.")
	var ratio string
	s.Add(config.Text(&ratio, "RATIO", "a number from 0 to 1, such as 0.05", func(s string) bool {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return false
		}
		c.Trace.Ratio = &f
		return true
	}), "trace-ratio",
		"The part of the traces that is recorded of those that begin here; others are if whoever began them does.\nWithout it as OTEL_TRACES_SAMPLER says, or all.")
}
