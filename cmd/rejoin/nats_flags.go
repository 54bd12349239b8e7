package main

import (
	"net/url"
	"strings"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/subjects"
)

// natsURLs is where NATS is: one or more URLs.
func natsURLs(p *string) config.Value {
	return config.Text(p, "URL[,URL]", "one or more URLs such as nats://host:4222 or tls://user:password@host:4222, separated by commas, a password percent-encoded", func(s string) bool {
		for u := range strings.SplitSeq(s, ",") {
			parsed, err := url.Parse(strings.TrimSpace(u))
			if err != nil || parsed.Host == "" {
				return false
			}
			switch parsed.Scheme {
			case "nats", "tls", "ws", "wss":
			default:
				return false
			}
		}
		return true
	})
}

// brokerFlags say which broker to use, and how to connect to it.
func brokerFlags(s *config.Set, c *app.Config) {
	c.Connect = app.DefaultConnect
	file := func(p *string, what string) config.Value { return config.Text(p, "FILE", "the name of "+what, nil) }
	n := &c.Conn
	s.Add(natsURLs(&c.NATS), "nats", "Where NATS with JetStream is. A user and a password, or a token, may stand in the URL.")
	s.Add(config.Text(&n.Context, "NAME", "the name of a context of the nats command, or the path of its file", nil), "nats-context",
		"Where NATS is and how to connect, as \"nats context\" has stored it. Flags win over it.")
	s.Add(file(&n.Creds, "a credentials file"), "nats-creds", "The credentials of the NATS user, as nsc writes them.")
	s.Add(file(&n.NKey, "a file with a user's seed"), "nats-nkey", "The seed of the NATS user's nkey, instead of credentials.")
	s.Add(file(&n.CA, "a file of PEM certificates"), "nats-ca", "Who signs for the servers' certificates. Without it, whom this system trusts.")
	s.Add(file(&n.Cert, "a PEM file"), "nats-cert", "The certificate to show to the servers. Needs --nats-key.")
	s.Add(file(&n.Key, "a PEM file"), "nats-key", "The key of that certificate.")
	s.Add(config.Switch(&n.TLSFirst), "nats-tls-first", "Begin with TLS, for servers that say nothing before it (handshake_first).")
	s.Add(config.Text(&n.InboxPrefix, "PREFIX", "one or more tokens joined by dots, without wildcards and spaces", app.ValidInboxPrefix), "nats-inbox-prefix",
		"Where answers are received, for users that may receive nowhere else. Without it, _INBOX.")
	s.Add(config.Text(&n.Domain, "DOMAIN", "the name of a JetStream domain, without dots, wildcards and spaces", app.ValidDomain), "nats-domain",
		"The JetStream domain that holds the streams, where it is not the connection's own.")
	s.Add(config.Duration(&c.Connect, 0, day), "nats-wait", "How long to wait for a broker that does not answer yet, before giving up.")
}

// brokerNamed checks that it is said where the broker is.
func brokerNamed(s *config.Set, c *app.Config, more string) error {
	if c.NATS == "" && c.Conn.Context == "" {
		return s.Wrong("--nats is missing, or --nats-context: where is the broker?%s", more)
	}
	return nil
}

// streamFlags say what the streams look like.
func streamFlags(s *config.Set, c *app.Config, provision *bool) {
	*provision = true
	s.Add(config.Switch(provision), "provision",
		"Create streams and buckets that are missing, and bring settings of existing ones up to date; where there is\nnothing to do, no right to is needed. Off: a missing one is an error. \"rejoin init\" does the same alone.")
	replicasFlag(s, c)
	partitionsFlag(s, c)
}

func replicasFlag(s *config.Set, c *app.Config) {
	s.Add(config.Number(&c.Replicas, 0, 5), "replicas",
		"Copies of everything stored. 0 leaves existing streams as they are and makes new ones with 1. Use 3 on a cluster\nof three servers.")
}

func partitionsFlag(s *config.Set, c *app.Config) {
	s.Add(config.Number(&c.Partitions, 0, subjects.MaxPartitions), "partitions",
		"Streams that runs are spread over. 0 takes those that exist, 4 on a new fabric. More can be added later; none is removed.")
}

// janitorFlag says whether a process sweeps besides what else it does.
func janitorFlag(s *config.Set, sweep *bool) {
	*sweep = true
	s.Add(config.Switch(sweep), "janitor",
		"Sweep too: end runs whose producer is gone, and remove old ones. Off: a \"rejoin janitor\" has to, and this\nprocess needs no right to remove anything.")
}
