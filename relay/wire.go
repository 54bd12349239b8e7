package relay

import (
	"math/rand/v2"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// wire is how frames look to one observer. It is used by one goroutine.
type wire interface {
	// frame appends a frame. The error, which ends the stream, says that this wire
	// cannot express it; what there is to say about it has then been appended.
	frame(*chunks, *consumer.Frame) error
	// leave appends what an observer has to know when the stream ends before the
	// run does.
	leave(*chunks, cause)
	name() string
}

// cause says why a stream was closed. It is a label of a metric: there are no
// others than these.
type cause string

const (
	causeEnd     cause = "end"     // the run's end was sent
	causeAge     cause = "age"     // the stream was open for long enough
	causeDrain   cause = "drain"   // the relay is shutting down
	causeClient  cause = "client"  // the observer left
	causeStalled cause = "stalled" // the observer stopped reading, or its connection broke
	causeGone    cause = "gone"    // the run was evicted
	causeBroker  cause = "broker"  // the broker could not be read for too long
	causeBehind  cause = "behind"  // live runs: more has changed than was taken
	causeGap     cause = "gap"     // legacy: events can no longer be given one by one
	causeError   cause = "error"   // a fault of ours

	causeExpired     cause = "expired"      // the credential has expired, or its key was withdrawn
	causeSwitchedOff cause = "switched_off" // the chat may not be watched any more
)

// Observers come back spread over this time: those of a relay that goes down
// together would otherwise reach the others together.
const (
	minRetry = 250 * time.Millisecond
	maxRetry = 2 * time.Second
)

func retryTime() time.Duration { return minRetry + rand.N(maxRetry-minRetry) }

// protocol1 is the wire of protocol 1.
type protocol1 struct{}

func (protocol1) name() string { return "1" }

func (protocol1) frame(c *chunks, f *consumer.Frame) error {
	c.frame(f)
	return nil
}

func (protocol1) leave(c *chunks, _ cause) {
	c.need(frameRoom)
	c.buf = consumer.AppendRetry(c.buf, retryTime())
}
