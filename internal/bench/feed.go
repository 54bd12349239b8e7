package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rejoin/rejoin/internal/bench/client"
	"github.com/rejoin/rejoin/internal/bench/stamp"
)

// feedState is where a feed is.
type feedState uint8

const (
	starting feedState = iota // the run is being made
	opening                   // the event that begins the message is being stored
	feeding                   // events are sent
	closing                   // the body is over, and not answered
	ending                    // the run's end is being stored
	over
)

// feed is the producer of one run, on a connection of its own. It belongs to the goroutine
// of the pacer's loop.
type feed struct {
	pacer *pacer
	at    place
	sock  *client.Sock
	state feedState
	n     uint64 // of the last event sent, or queued

	// Of one whose events come in requests of their own:
	busy    bool   // one is under way
	queue   []sent // due meanwhile
	request []byte // the one under way, where it may have to be repeated
}

// sent is an event that waits for the one before it to be stored.
type sent struct {
	n   uint64
	due int64
}

// start makes the run.
func (d *feed) start() error {
	sock, err := d.pacer.loop.Dial([4]byte{}, d)
	if err != nil {
		return err
	}
	d.sock = sock
	if d.pacer.to.bare {
		return d.open()
	}
	body, err := json.Marshal(map[string]string{"chat_id": d.at.chat})
	if err != nil {
		return err
	}
	return sock.Write(client.AppendPost(nil, d.pacer.loop.Host(), "/runs", body))
}

// open stores the event that begins the message.
func (d *feed) open() error {
	d.state = opening
	return d.sock.Write(client.AppendPost(nil, d.pacer.loop.Host(), d.pacer.to.events(d.at), append(stamp.Open(), '\n'), ndjson))
}

// ready begins a streamed body, once the run is there.
func (d *feed) ready() error {
	d.state = feeding
	d.pacer.ready++
	d.pacer.next()
	if d.pacer.single {
		return nil
	}
	return d.sock.Write(client.AppendStream(nil, d.pacer.loop.Host(), d.pacer.to.events(d.at), ndjson))
}

// event sends the next event.
func (d *feed) event(due int64) error {
	d.n++
	if d.pacer.single && d.busy {
		d.queue = append(d.queue, sent{d.n, due})
		return nil
	}
	return d.send(d.n, due)
}

func (d *feed) send(n uint64, due int64) error {
	f := d.pacer
	f.event = append(stamp.Append(f.event[:0], n, due, f.size), '\n')
	if f.single {
		d.busy = true
		f.out = client.AppendPost(f.out[:0], f.loop.Host(), f.to.events(d.at), f.event, ndjson)
	} else {
		f.out = append(client.AppendChunkHead(f.out[:0], len(f.event)), f.event...)
		f.out = append(f.out, client.EndChunk...)
	}
	return d.sock.Write(f.out)
}

// close ends the body and then the run.
func (d *feed) close() error {
	if d.state != feeding {
		return nil
	}
	d.state = closing
	if !d.pacer.single {
		return d.sock.Write([]byte(client.LastChunk))
	}
	if d.busy {
		return nil
	}
	return d.end()
}

func (d *feed) end() error {
	if d.pacer.to.bare {
		d.state = over
		d.pacer.over++
		return nil
	}
	d.state = ending
	return d.sock.Write(client.AppendPost(nil, d.pacer.loop.Host(), "/runs/"+d.at.run+"/end", []byte(`{"persisted":true}`)))
}

// Frame is for observers.
func (d *feed) Frame(*client.Frame, time.Time) {}

// Answer goes on with what comes next.
func (d *feed) Answer(status int, body []byte, _ time.Time) {
	if d.repeats() && status >= http.StatusInternalServerError {
		d.pacer.again = append(d.pacer.again, d)
		return
	}
	want := http.StatusOK
	if d.state == starting {
		want = http.StatusCreated
	}
	err := client.Want(want, status, body)
	if err == nil {
		err = d.answered(body)
	}
	if err != nil {
		d.pacer.fail(fmt.Errorf("a producer was answered: %w", err))
	}
}

func (d *feed) answered(body []byte) error {
	switch d.state {
	case starting:
		var got struct {
			RunID string `json:"run_id"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			return err
		}
		d.at.run = got.RunID
		return d.open()
	case opening:
		return d.ready()
	case feeding, closing:
		d.pacer.stored++
		if d.busy = false; len(d.queue) > 0 {
			next := d.queue[0]
			d.queue = d.queue[1:]
			return d.send(next.n, next.due)
		}
		if d.state == closing {
			return d.end()
		}
		if !d.pacer.single {
			return fmt.Errorf("%w: the body is still open: %.200q", client.ErrStatus, body)
		}
	case ending:
		d.state = over
		d.pacer.over++
	}
	return nil
}

// Closed is an error unless the run is over, or nothing is lost by another connection.
func (d *feed) Closed(err error) {
	p := d.pacer
	switch {
	case d.state == over || p.done:
	case d.repeats() || p.single && d.state == feeding && !d.busy:
		sock, err := p.loop.Dial([4]byte{}, d)
		if err != nil {
			p.fail(err)
			return
		}
		if d.sock = sock; d.busy {
			p.again = append(p.again, d)
		}
	default:
		p.fail(fmt.Errorf("a producer lost its connection: %w", err))
	}
}
