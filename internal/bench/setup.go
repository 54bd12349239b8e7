package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/report"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// patience bounds every wait for something that is only late if it is broken.
const patience = time.Minute

var ndjson = client.Header{Name: "Content-Type", Value: "application/x-ndjson"}

// filled makes a run of n events, of which the first begins the message and the others add
// to it: numbers 1 to n-1. The body is streamed at full speed, and all of it is stored when
// filled returns. The run goes on.
func filled(c *client.Conn, chat string, n, size int) (run string, err error) {
	if run, err = c.StartRun(chat); err != nil {
		return "", err
	}
	body, err := c.Stream(client.EventsPath(run), ndjson)
	if err != nil {
		return "", err
	}
	return run, fill(body, n, size)
}

// filledRuns makes all runs of a case, of chats chat-0 and on.
func filledRuns(ctx context.Context, addr string, c Case) ([]string, error) {
	runs := make([]string, c.Runs)
	work := errgroup.Group{}
	work.SetLimit(20)
	for i := range runs {
		work.Go(func() error {
			conn, err := client.Dial(ctx, addr, client.Options{})
			if err != nil {
				return err
			}
			defer conn.Close()
			fill := filled
			if c.Mode == oneByOne {
				fill = filledOneByOne
			}
			runs[i], err = fill(conn, fmt.Sprintf("chat-%d", i), c.Events, c.Size)
			return err
		})
	}
	return runs, work.Wait()
}

// filledOneByOne is filled with a request for each event, so that each is stored by itself.
func filledOneByOne(c *client.Conn, chat string, n, size int) (run string, err error) {
	if run, err = c.StartRun(chat); err != nil {
		return "", err
	}
	line := append(stamp.Open(), '\n')
	for i := 1; i <= n; i++ {
		status, answer, err := c.Post(client.EventsPath(run), line, ndjson)
		if err == nil {
			err = client.Want(http.StatusOK, status, answer)
		}
		if err != nil {
			return "", err
		}
		line = append(stamp.Append(line[:0], uint64(i), time.Now().UnixMicro(), size), '\n')
	}
	return run, nil
}

// filledTopic publishes the same events to the bare SSE server.
func filledTopic(c *client.Conn, topic string, n, size int) error {
	body, err := c.Stream(topicPath(topic), ndjson)
	if err != nil {
		return err
	}
	return fill(body, n, size)
}

func topicPath(topic string) string { return "/t/" + topic }

func fill(body *client.Body, n, size int) error {
	line := append(stamp.Open(), '\n')
	for i := 1; i <= n; i++ {
		if _, err := body.Write(line); err != nil {
			return err
		}
		line = append(stamp.Append(line[:0], uint64(i), time.Now().UnixMicro(), size), '\n')
	}
	status, answer, err := body.Close()
	if err != nil {
		return err
	}
	return client.Want(http.StatusOK, status, answer)
}

// settle lets what goes on in the background come to its end.
func settle(ctx context.Context) error {
	select {
	case <-time.After(500 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counted are the counts of observers as a result has them.
func counted(c stamp.Counts, late uint64) report.Counts {
	return report.Counts{Expected: c.Expected, Delivered: c.Delivered, Missing: c.Missing, Doubled: c.Doubled, OutOfOrder: c.OutOfOrder, Late: late}
}

// thousands is a number as names of cases have it: 10,000.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// bytesText is a size as names of cases have it.
func bytesText(n int) string {
	if n%1024 == 0 {
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d B", n)
}
