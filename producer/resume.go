package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Resume takes a run over, whoever writes it: from then on that writer is fenced. The
// next event gets the number after the newest one that is stored. What the former
// writer had not had acknowledged is as if it had never been.
//
// The error is ErrNotFound, *EndedError, ErrNotBegun for the run of a turn that no worker
// has begun, ErrLogLost, ErrClosed after Close, ErrFenced
// when yet another writer took the run meanwhile, or ctx's.
func (p *Producer) Resume(ctx context.Context, id subjects.RunID) (*Run, error) {
	return p.ResumeIf(ctx, id, func(subjects.Realm) bool { return true })
}

// ResumeIf is Resume for somebody who may not write every run: one of a realm that may
// refuses is ErrNotFound, like one that does not exist, and is left alone.
func (p *Producer) ResumeIf(ctx context.Context, id subjects.RunID, may func(subjects.Realm) bool) (*Run, error) {
	if p.isClosed() {
		return nil, ErrClosed
	}
	e, err := p.store.Entry(ctx, id)
	if err == nil && !may(e.Realm) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if e.End != nil {
		return nil, &EndedError{End: *e.End, Seq: e.Seq}
	}
	if e.State == runs.StateQueued {
		return nil, ErrNotBegun
	}
	writer := nuid.Next()
	last, seq, err := p.takeOver(ctx, id, writer)
	if err != nil {
		return nil, err
	}
	e, err = p.store.ChangeEntry(ctx, id, func(e *runs.Entry) error {
		switch {
		case e.End != nil:
			return &EndedError{End: *e.End, Seq: e.Seq}
		case e.ClaimStreamSeq > seq:
			return fmt.Errorf("%w: writer %.40q", ErrFenced, e.Writer)
		}
		e.Producer, e.Writer, e.ClaimStreamSeq, e.State = p.lease.ID(), writer, seq, runs.StateRunning
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := p.newRun(e, seq)
	r.assigned, r.acked = last, last
	if err = r.readBack(ctx); err == nil {
		r.goOn()
		err = p.add(r)
	}
	if err != nil {
		p.disown(r)
		return nil, err
	}
	p.log.Info("run taken over", "run", id, "seq", last)
	if f := p.cfg.Metrics.Resumed; f != nil {
		f()
	}
	return r, nil
}

// takeOver appends the takeover record; it gives the run's newest seq and the
// record's stream sequence.
func (p *Producer) takeOver(ctx context.Context, id subjects.RunID, writer string) (last, seq uint64, err error) {
	for {
		newest, err := p.store.Last(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			return 0, 0, ErrLogLost
		case err != nil:
			return 0, 0, err
		}
		if end := newest.End(); end != nil {
			_, err := p.store.Seal(ctx, id, *end, newest.Last)
			return 0, 0, errors.Join(&EndedError{End: *end, Seq: newest.Last}, err)
		}
		rec := subjects.Record{Kind: subjects.KindTakeover, Last: newest.Last, Writer: writer}
		seq, err := p.store.Append(ctx, id, &rec, newest.StreamSeq)
		if err == nil {
			return newest.Last, seq, nil
		}
		if !errors.Is(err, ErrFenced) || errors.Is(err, ErrEnded) || ctx.Err() != nil {
			return 0, 0, err
		}
	}
}

// disown gives up a run that was taken over and cannot be written: without a
// producer, a janitor ends it if nobody else takes it.
func (p *Producer) disown(r *Run) {
	r.neverWrites()
	r.fail(ErrClosed)
	r.stop()
	ctx, cancel := context.WithTimeout(p.ctx, undoTimeout)
	defer cancel()
	_, err := p.store.ChangeEntry(ctx, r.id, func(e *runs.Entry) error {
		if err := r.owns(e); err != nil {
			return err
		}
		e.Producer = ""
		return nil
	})
	if err != nil && !definite(err) {
		p.log.Warn("a run that could not be taken over is not given up yet", "run", r.id, "error", err)
		p.endLater(r, subjects.End{Reason: subjects.ReasonAbandoned})
	}
}

// readBack finds the segments there are, also those that the former writer did not live
// to note, and reads the events behind them from the log.
func (r *Run) readBack(ctx context.Context) error {
	from := r.entry.FirstStreamSeq
	for n := max(r.entry.Segments-1, 0); ; n++ {
		seg, err := r.p.store.Segment(ctx, r.id, n)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
		r.history.cover(seg.To, n)
		from = seg.StreamSeq
	}
	segments := r.history
	wait := readRetry
	for try := 1; ; try++ {
		err := r.readRecords(ctx, from)
		if err == nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrLogLost) && try >= readTries {
			return err
		}
		// A replica answered that lags or has lost something; the next may be another.
		select {
		case <-ctx.Done():
			return fmt.Errorf("reading the log: %w (last: %w)", ctx.Err(), err)
		case <-time.After(wait):
		}
		wait = min(2*wait, time.Second)
		r.history = segments
	}
}

// goOn makes the next event that is published one that follows the newest that was read back, for
// folding both into one.
func (r *Run) goOn() {
	n := len(r.history.records)
	if n == 0 {
		return
	}
	body := r.history.records[n-1].body
	var e agui.Event
	if agui.Scan(body[bytes.LastIndexByte(body, '\n')+1:], &e) == nil {
		r.marker.Mark(&e)
	}
}

// How long to wait before the log is read again, and how often an incomplete one is
// read before it is believed.
const (
	readRetry = 5 * time.Millisecond
	readTries = 10
)

// readRecords reads the log from a stream sequence on up to the takeover record, which
// is known to be stored.
func (r *Run) readRecords(ctx context.Context, from uint64) error {
	var parts [][]byte
	for from <= r.prev {
		page, err := r.p.store.Page(ctx, r.id, from)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return fmt.Errorf("%w: the takeover is not shown", ErrLogLost)
		}
		for _, rec := range page {
			if rec.StreamSeq > r.prev {
				return fmt.Errorf("%w: writer %.40q", ErrFenced, rec.Writer)
			}
			from = rec.StreamSeq + 1
			parts = r.readRecord(&rec, parts)
		}
	}
	if to := r.history.covered + uint64(r.history.events); to != r.acked {
		return fmt.Errorf("%w: of its events up to seq %d only those up to %d are there", ErrLogLost, r.acked, to)
	}
	return nil
}

// readRecord adds what a record completes to the history. parts are those of an event
// that is not complete yet; any other record shows that it never will be.
func (r *Run) readRecord(rec *runs.Stored, parts [][]byte) [][]byte {
	h := &r.history
	b := batch{body: rec.Body, n: rec.Count, last: rec.Last}
	messages := 1
	if rec.Kind == subjects.KindPart {
		if rec.Part != len(parts)+1 {
			parts = nil
		}
		parts = append(parts, rec.Body)
		if rec.Part < rec.Parts || len(parts) < rec.Parts {
			h.messages++
			return parts
		}
		b.body, messages = bytes.Join(parts, nil), 1
	}
	s := stored{batch: b, streamSeq: rec.StreamSeq, messages: messages}
	switch at := h.covered + uint64(h.events); {
	case rec.Count == 0 || rec.Last <= at:
		h.messages++
	case rec.Prev() == at:
		h.add(s)
	case rec.Prev() < at:
		h.add(s.after(at))
	}
	return nil
}
