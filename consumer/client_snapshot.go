package consumer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/rejoin/rejoin/subjects"
)

// RunSnapshot is a run as GET /runs/{run_id}/snapshot shows it.
type RunSnapshot struct {
	RunID  subjects.RunID
	Seq    uint64        // of the last event folded in
	Events []byte        // NDJSON, as in a Snapshot frame
	End    *subjects.End // nil while the run goes on
	ETag   string        // for the next call; changes with Seq and with the end
}

// Snapshot gets a run's snapshot without SSE, for pollers. etag is that of the
// snapshot already held, "" for none.
//
// It makes one attempt (and the one more that a 401 may take, see Client.Token).
// Errors: ErrNotModified where etag still holds, *HTTPError for other answers,
// 404 among them, ErrTooLarge above MaxMessage, ErrFrame for what is no
// snapshot, ErrTimeout, or that of ctx.
func (c *Client) Snapshot(ctx context.Context, run subjects.RunID, etag string) (RunSnapshot, error) {
	client, err := c.settle()
	if err != nil {
		return RunSnapshot{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(client.HeaderTimeout, func() {
		cancel(fmt.Errorf("%w: no answer within %v", ErrTimeout, client.HeaderTimeout))
	})
	defer limit.Stop()
	header := http.Header{"Accept": {"application/json"}}
	if etag != "" {
		header.Set("If-None-Match", etag)
	}
	calls := caller{client: client}
	resp, err := calls.do(ctx, http.MethodGet, "/runs/"+url.PathEscape(string(run))+"/snapshot", header, nil)
	if err != nil {
		return RunSnapshot{}, cause(ctx, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		discard(resp)
		return RunSnapshot{}, ErrNotModified
	default:
		return RunSnapshot{}, readError(resp)
	}
	limit.Stop()
	body := listen(resp.Body, client.IdleTimeout, cancel)
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, int64(client.MaxMessage)+1))
	switch {
	case err != nil:
		return RunSnapshot{}, cause(ctx, err)
	case len(data) > client.MaxMessage:
		return RunSnapshot{}, fmt.Errorf("%w: above %d bytes", ErrTooLarge, client.MaxMessage)
	}
	snap, err := parseSnapshot(data)
	snap.ETag = resp.Header.Get("ETag")
	return snap, err
}

func parseSnapshot(data []byte) (RunSnapshot, error) {
	p, err := parse(data)
	if err != nil {
		return RunSnapshot{}, err
	}
	run, errRun := runID(p.run)
	n, errSeq := seq(p.seq)
	events, errEvents := ndjson(p.events)
	end, errEnd := endOrNull(p.end)
	if err := cmp.Or(errRun, errSeq, errEvents, errEnd); err != nil {
		return RunSnapshot{}, err
	}
	return RunSnapshot{RunID: run, Seq: n, Events: events, End: end}, nil
}

func endOrNull(raw []byte) (*subjects.End, error) {
	switch {
	case raw == nil:
		return nil, wrong("end", raw, "an object or null")
	case string(raw) == "null":
		return nil, nil
	}
	p, err := parse(raw)
	if err != nil {
		return nil, err
	}
	end, err := p.ending()
	return &end, err
}
