package bench

import (
	"fmt"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// observer is one of a crowd. It belongs to the goroutine of the crowd's loop.
type observer struct {
	crowd  *crowd
	at     *place
	ledger stamp.Ledger
	scan   stamp.Scanner
	sock   *client.Sock // nil while it is away

	seq     uint64 // of the last frame, the cursor
	n       uint64 // event of a frame that has not come whole, 0 for none
	due     int64
	status  int // of an answer that ended the connection
	returns int

	joined bool // it has got something
	caught bool // it has all that the crowd waits for
	away   bool // it has left, and will not come by itself
	ended  bool // it has seen the end
}

// maxReturns is how often an observer comes back by itself, before something is wrong.
const maxReturns = 50

// Frame keeps account of what comes.
func (o *observer) Frame(f *client.Frame, at time.Time) {
	if f.First && f.Last && f.Type != client.Snapshot {
		o.n, o.due, _ = stamp.First(f.Data)
	} else if !o.piece(f) {
		return
	}
	if f.Type == client.Snapshot {
		o.ledger.Replace()
	} else if o.n > 0 {
		o.ledger.Add(o.n)
		o.crowd.arrived(o.due, at)
	}
	o.n = 0
	o.seq = f.Seq
	if !o.joined {
		o.joined = true
		o.crowd.joins()
	}
	if !o.caught && o.ledger.Next() > o.crowd.want {
		o.caught = true
		o.crowd.catches(at)
	}
	if f.Type == client.End && !o.ended {
		o.ended = true
		o.crowd.ended++
	}
}

// piece takes a piece of a frame that comes in several; true says that it is whole now.
// Nothing of it counts before.
func (o *observer) piece(f *client.Frame) bool {
	if f.First {
		o.scan.Reset()
		o.n = 0
		if f.Type == client.Snapshot {
			o.ledger.Begin()
		}
	}
	for n, due := range o.scan.Scan(f.Data) {
		if f.Type == client.Snapshot {
			o.ledger.AddSnapshot(n)
		} else {
			o.n, o.due = n, due
		}
	}
	return f.Last
}

// Answer ends the stream.
func (o *observer) Answer(status int, body []byte, _ time.Time) {
	o.status = status
	if status != http.StatusOK {
		o.crowd.refused++
		o.crowd.refusal = fmt.Errorf("%w: %w", errRefused, client.Want(http.StatusOK, status, body))
	}
	o.sock.Close()
}

// Closed has the observer come back, unless it is through or meant to be away.
func (o *observer) Closed(err error) {
	o.sock = nil
	switch c := o.crowd; {
	case o.away || o.ended || c.over:
	case o.status != 0 && o.status != http.StatusOK:
		c.waiting = append(c.waiting, o)
	case o.returns >= maxReturns:
		c.fail(fmt.Errorf("an observer's connection was lost %d times, at last because of: %w", o.returns, err))
	default:
		o.returns++
		c.returns++
		c.dial(o)
	}
}
