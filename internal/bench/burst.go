package bench

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// burst has every run of a pacer whose requests are single get k more events, in one
// request, and waits until all are stored.
func (p *pacer) burst(ctx context.Context, k int) error {
	var want int
	if err := p.loop.Do(func() {
		want = p.stored + len(p.feeds)
		due := time.Now().UnixMicro()
		for _, d := range p.feeds {
			if err := d.batch(k, due); err != nil {
				p.fail(err)
			}
		}
	}); err != nil {
		return err
	}
	return p.wait(ctx, "events to be stored", func() bool { return p.stored == want })
}

// batch sends k events in one request.
func (d *feed) batch(k int, due int64) error {
	p := d.pacer
	p.event = p.event[:0]
	first := d.n + 2 // its seq: event 1 comes after the one that begins the message
	for range k {
		d.n++
		p.event = append(stamp.Append(p.event, d.n, due, p.size), '\n')
	}
	headers := []client.Header{ndjson}
	if p.repeat {
		headers = append(headers, client.Header{Name: "Rejoin-First-Seq", Value: strconv.FormatUint(first, 10)})
	}
	p.out = client.AppendPost(p.out[:0], p.loop.Host(), p.to.events(d.at), p.event, headers...)
	if p.repeat {
		d.request = bytes.Clone(p.out)
	}
	d.busy = true
	return d.sock.Write(p.out)
}

// repeats says whether a request that failed is repeated.
func (d *feed) repeats() bool { return d.pacer.repeat && d.state == feeding }

// repeatAll sends again what failed.
func (p *pacer) repeatAll() {
	again := p.again
	p.again = nil
	for _, d := range again {
		if err := d.sock.Write(d.request); err != nil {
			p.fail(err)
		}
	}
}
