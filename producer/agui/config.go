package agui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/subjects"
)

// Config of an Agent.
type Config struct {
	URL string // required: where the agent takes a POST; http or https

	// Header is sent with every request. It wins over what a turn's own request has.
	Header http.Header

	// Client does the requests; nil means one without a time limit that keeps its
	// connections. Its CheckRedirect is not used.
	Client *http.Client

	IdleTimeout   time.Duration // how long the agent may say nothing at all; 0 means 10 min
	Linger        time.Duration // how long the answer is read after RUN_FINISHED; 0 means 2 s
	MaxEventBytes int           // 0 means subjects.MaxEventBytes

	// Earlier returns what there is of a chat before a turn whose input is not a
	// RunAgentInput. nil means that there is nothing.
	Earlier func(ctx context.Context, r *agent.Request) (Earlier, error)

	Logger *slog.Logger // may be nil
}

// Earlier is what a chat's earlier turns have left. The zero value is nothing.
type Earlier struct {
	Messages []json.RawMessage // oldest first
	State    json.RawMessage   // nil means {}
}

func (c Config) withDefaults() (Config, error) {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return c, errors.New("the agent's URL is missing")
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return c, errors.New("the agent's URL cannot be used; allowed is http:// or https:// with a host, and a path")
	}
	client := http.Client{}
	if c.Client != nil {
		client = *c.Client
	} else {
		// Not http.DefaultTransport itself, whose idle connections are not ours to close.
		client.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	client.CheckRedirect = checkRedirect
	c.Client = &client
	c.Header = c.Header.Clone()
	c.IdleTimeout = cmp.Or(max(c.IdleTimeout, 0), 10*time.Minute)
	c.Linger = cmp.Or(max(c.Linger, 0), 2*time.Second)
	c.MaxEventBytes = cmp.Or(max(c.MaxEventBytes, 0), subjects.MaxEventBytes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
