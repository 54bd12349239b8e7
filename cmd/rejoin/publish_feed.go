package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// feed sends the lines of the input to a run. A request stays open while lines come,
// and is closed to learn that they are stored: before many are unacknowledged, and
// soon after the first of them. Until then they are kept, and go out again, with
// the number of the first, when the request fails.
//
// While there are no lines an open request keeps the run alive.
type feed struct {
	api    *api
	run    string
	in     *lines
	next   uint64 // seq of the first line that is kept
	kept   []line
	bytes  int // of those kept
	stored int // lines acknowledged
	over   bool
}

// How much is kept and for how long before an acknowledgement is asked for.
const (
	maxKept      = 1024
	maxKeptBytes = 4 << 20
	keptFor      = time.Second
)

// all sends everything until the input ends, or reading is to stop because ctx is done. What was
// read by then is still sent within storing.
func (f *feed) all(ctx, storing context.Context) error {
	t := f.api.tries()
	for !f.over || len(f.kept) > 0 {
		err := f.request(ctx, storing)
		switch {
		case err == nil:
			t.succeeded()
		case !t.again(storing, err):
			return err
		}
	}
	return f.in.err
}

// request is one events request, with what is kept and what comes.
func (f *feed) request(ctx, storing context.Context) error {
	reqCtx, cancel := context.WithCancel(storing)
	defer cancel()
	body, w := io.Pipe()
	answered := make(chan error, 1)
	go func() {
		var got stored
		header := http.Header{"Content-Type": {"application/x-ndjson"}, "Rejoin-First-Seq": {strconv.FormatUint(f.next, 10)}}
		err := f.api.post(reqCtx, eventsPath(f.run), header, body, &got)
		body.CloseWithError(errAnswered) // writing would wait for ever
		answered <- err
	}()
	early := f.fill(ctx, w, cancel, answered)
	if early == nil {
		w.Close()
		limit := time.AfterFunc(answerTime, cancel)
		early = &answer{<-answered}
		limit.Stop()
	}
	return f.settle(early.err)
}

// answer is how a request ended.
type answer struct{ err error }

var errAnswered = errors.New("the request is over")

// fill writes lines into the request's body until it is time to ask for the
// acknowledgement, which is nil, or until the request ends before.
func (f *feed) fill(ctx context.Context, w *io.PipeWriter, cancel func(), answered <-chan error) *answer {
	// A connection that takes nothing is given up: it may be dead.
	stuck := time.AfterFunc(answerTime, cancel)
	defer stuck.Stop()
	write := func(l line) *answer {
		stuck.Reset(answerTime)
		_, err := w.Write(append(l.event, '\n'))
		stuck.Stop()
		if err != nil {
			return &answer{<-answered}
		}
		return nil
	}
	for _, l := range f.kept {
		if early := write(l); early != nil {
			return early
		}
	}
	stuck.Stop()
	ask := time.NewTimer(keptFor)
	defer ask.Stop()
	if len(f.kept) == 0 {
		ask.Stop()
	}
	for !f.over && len(f.kept) < maxKept && f.bytes < maxKeptBytes {
		select {
		case l, ok := <-f.in.next:
			if !ok {
				f.over = true
				return nil
			}
			f.kept = append(f.kept, l)
			f.bytes += len(l.event)
			if len(f.kept) == 1 {
				ask.Reset(keptFor)
			}
			if early := write(l); early != nil {
				return early
			}
		case <-ask.C:
			return nil
		case err := <-answered:
			return &answer{err}
		case <-ctx.Done():
			f.over = true
		}
	}
	return nil
}

// settle takes in what an answer says about the lines kept.
func (f *feed) settle(err error) error {
	if err == nil {
		f.acknowledge(len(f.kept))
		return nil
	}
	var p *problemError
	if errors.As(err, &p) && p.Line > 0 && p.Line <= len(f.kept) && !temporary(err) {
		bad := f.kept[p.Line-1].n
		f.acknowledge(p.Line - 1)
		return fmt.Errorf("line %d of the input: %w", bad, err)
	}
	return err
}

// acknowledge forgets the first n lines kept: they are stored.
func (f *feed) acknowledge(n int) {
	for _, l := range f.kept[:n] {
		f.bytes -= len(l.event)
	}
	f.kept = append(f.kept[:0:0], f.kept[n:]...)
	f.next += uint64(n)
	f.stored += n
}
