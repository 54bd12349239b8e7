package floor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// pendingPublishes is how many messages JetStream may have unacknowledged: as many as bring
// no more speed if there were more.
const pendingPublishes = 4096

// stall is how long the broker may take to acknowledge any of them.
const stall = 30 * time.Second

// AsyncPublish stores messages of size bytes in a stream of files for the given time, each
// event a message, as fast as JetStream acknowledges them. It returns how many a second
// were. The stream is removed.
func AsyncPublish(ctx context.Context, nc *nats.Conn, subjects, size int, during time.Duration) (perSecond float64, err error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(pendingPublishes))
	if err != nil {
		return 0, err
	}
	const name = "BENCH_FLOOR"
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{"benchfloor.*"}, Storage: jetstream.FileStorage}); err != nil {
		return 0, err
	}
	defer func() {
		if gone := js.DeleteStream(context.WithoutCancel(ctx), name); err == nil {
			err = gone
		}
	}()
	data := make([]byte, size)
	to := make([]string, max(subjects, 1))
	for i := range to {
		to[i] = fmt.Sprintf("benchfloor.%d", i)
	}
	n, from := 0, time.Now()
	for ; time.Since(from) < during && ctx.Err() == nil; n++ {
		if _, err := js.PublishAsync(to[n%len(to)], data, jetstream.WithStallWait(stall)); err != nil {
			return 0, err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return float64(n) / time.Since(from).Seconds(), nil
}
