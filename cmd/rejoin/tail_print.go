package main

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/agui"
)

// printer shows frames in one of the forms of tail. What a frame shows has been
// written when frame returns.
type printer interface {
	frame(consumer.Frame) error
	close() error // shows what is left
}

func newPrinter(o tailOptions, std stdio) printer {
	w := bufio.NewWriter(std.out)
	switch {
	case o.raw:
		return &rawPrinter{w: w, safe: isTerminal(std.out)}
	case o.folded:
		return &foldedPrinter{w: w, safe: isTerminal(std.out)}
	}
	return &textPrinter{w: w}
}

// rawPrinter shows each frame as JSON.
type rawPrinter struct {
	w    *bufio.Writer
	safe bool // standard output is a terminal
	buf  []byte
}

func (p *rawPrinter) frame(f consumer.Frame) error {
	p.buf = append(f.AppendJSON(p.buf[:0]), '\n')
	return writeJSON(p.w, p.buf, p.safe)
}

func (p *rawPrinter) close() error { return nil }

func writeJSON(w *bufio.Writer, b []byte, safe bool) error {
	if safe {
		b = jsonForTerminal(b)
	}
	_, _ = w.Write(b)
	return w.Flush()
}

// foldedPrinter shows at the end what all events come to.
type foldedPrinter struct {
	w    *bufio.Writer
	safe bool
	fold agui.Fold
}

func (p *foldedPrinter) frame(f consumer.Frame) error {
	switch f.Type {
	case consumer.Snapshot:
		p.fold.Reset()
		_, err := p.fold.AddLines(f.Events)
		return err
	case consumer.Event:
		_, err := p.fold.AddLines(f.Event)
		return err
	}
	return nil
}

func (p *foldedPrinter) close() error {
	if p.fold.Count() == 0 {
		return nil
	}
	return writeJSON(p.w, append(p.fold.Cut(), '\n'), p.safe)
}

// progress is a line on standard error that says how far a run has come. It shows
// only on a terminal, and only where nothing else is written to one.
type progress struct {
	w     io.Writer // nil: shown nowhere
	at    time.Time
	shown bool
}

// progressEvery keeps a fast run from spending its time on the terminal.
const progressEvery = 200 * time.Millisecond

func newProgress(std stdio, p printer) *progress {
	_, quiet := p.(*foldedPrinter)
	if !isTerminal(std.err) || isTerminal(std.out) && !quiet {
		return &progress{}
	}
	return &progress{w: std.err}
}

func (p *progress) show(f consumer.Frame) {
	if p.w == nil || time.Since(p.at) < progressEvery {
		return
	}
	p.at, p.shown = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K%s  seq %d", printable(string(f.RunID)), f.Seq)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
