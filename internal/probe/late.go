package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/rejoin/rejoin/consumer"
)

// late looks at the run once it has ended, from every kind of cursor.
func (p *prober) late(ctx context.Context) {
	n := p.plan.n
	for _, c := range []struct {
		name, expected string
		from           *uint64 // what the observer holds; nil: nothing that counts
		w              watch
	}{
		{"late, in the middle", "the rest, then the end", at(n / 2), watch{run: p.run, after: at(n / 2)}},
		{"late, cursor 0", "every event once, then the end", at(0), watch{run: p.run, after: at(0)}},
		{"late, at the end", "the end alone", at(n), watch{run: p.run, after: at(n)}},
		{"late, past the end", "a snapshot, then the end", nil, watch{run: p.run, after: at(n + 1000)}},
		{"late, no cursor", "a snapshot, then the end", nil, watch{run: p.run}},
		{"late, EventSource", "the rest, then the end", at(n / 2), watch{run: p.run, after: at(n / 2), get: true}},
	} {
		if ctx.Err() != nil {
			return
		}
		p.check(c.name, c.expected, func() (string, error) {
			return p.observe(c.from).run(ctx, c.w)
		})
	}
	if ctx.Err() != nil {
		return
	}
	p.check("late, nothing named", "204: the run was saved", func() (string, error) {
		s, err := p.attach(ctx, watch{})
		if err == nil {
			s.close()
			return "", errors.New("200, a stream")
		}
		if errors.Is(err, errIdle) {
			return "204", nil
		}
		return "", err
	})
	p.check("snapshot, again", "the whole run, then 304", func() (string, error) { return p.unchanged(ctx) })
}

// unchanged gets the snapshot of the ended run, and once more with its tag.
func (p *prober) unchanged(ctx context.Context) (string, error) {
	s, err := p.snapshot(ctx, "")
	if err != nil {
		return "", err
	}
	if want := fmt.Sprintf("%q", fmt.Sprintf("%s:%d:end", p.run, p.plan.n)); s.ETag != want {
		return "", fmt.Errorf("ETag %.80q, want %s", s.ETag, want)
	}
	switch _, err := p.snapshot(ctx, s.ETag); {
	case errors.Is(err, consumer.ErrNotModified):
		return fmt.Sprintf("seq %d, then 304", s.Seq), nil
	case err != nil:
		return "", err
	}
	return "", errors.New("200 although nothing changed")
}
