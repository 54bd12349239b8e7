package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/subjects"
)

// Exit codes of tail.
const (
	exitUnsaved     = 3
	exitIdle        = 4
	exitInterrupted = 130 // as a shell has it for Ctrl-C
)

// tailOptions are the flags of tail.
type tailOptions struct {
	url, chat, run    string
	after             uint64
	raw, folded, text bool
	follow            bool
	wait              time.Duration
}

var tailCommand = command{
	name: "tail",
	about: config.About{
		Summary: "watch a run in the terminal, from the beginning or from where you left",
		Text: `Prints the text as it comes, and other events as one line each. It comes back by itself when the
connection breaks, and says at the end whether the run was saved.

Exit codes: 0 the run has ended and was saved; 1 it is unavailable, or could not be watched to its end;
2 a flag is wrong; 3 it has ended and was not saved, or a newer run took the chat; 4 the chat is idle;
130 interrupted with Ctrl-C.`,
		Examples: []string{
			"rejoin tail --chat demo",
			"rejoin tail --chat c1 --wait 1m --raw | jq .",
			"rejoin tail --chat c1 --run 2-06h2o87uktqv7cnk6qvir1g5e8 --after 42",
		},
	},
	flags: func(s *config.Set) action {
		var o tailOptions
		log := urlFlag(s, &o.url)
		var by credential
		credentialFlags(s, &by)
		s.Add(chatName(&o.chat), "chat", "The chat to watch.")
		s.Add(runName(&o.run), "run", "The run to watch. Without it, and once a newer one has taken its place, the chat's current one.")
		s.Add(config.Number(&o.after, 0, subjects.MaxSeq), "after",
			"With --run: the seq of the last event you have; what follows it is shown. Without it, everything so far comes first.")
		s.Add(config.Switch(&o.text), "text", "Print text, and other events as one line each. This is how it is unless another form is asked for.")
		s.Add(config.Switch(&o.raw), "raw", "Print every frame as one line of JSON.")
		s.Add(config.Switch(&o.folded), "folded", "Print the events at the end, one a line, adjacent deltas joined.")
		s.Add(config.Switch(&o.follow), "follow", "When a newer run takes the chat, go on with it.")
		s.Add(config.Duration(&o.wait, 0, day), "wait", "How long to wait for a run to appear in an idle chat.")
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			if err := o.check(s); err != nil {
				return err
			}
			logger, err := std.logger(*log)
			if err != nil {
				return err
			}
			w := consumer.Watch{ChatID: o.chat, RunID: subjects.RunID(o.run), Wait: o.wait, Follow: o.follow}
			if s.Given("after") {
				w.AfterSeq = &o.after
			}
			client := &consumer.Client{BaseURL: o.url, Logger: logger}
			if client.Token, err = by.source(s); err != nil {
				return err
			}
			return tail(ctx, client.Watch(ctx, w), o, std)
		}
	},
}

func (o *tailOptions) check(s *config.Set) error {
	forms := 0
	for _, chosen := range []bool{o.raw, o.folded, o.text} {
		if chosen {
			forms++
		}
	}
	switch {
	case o.chat == "":
		return s.Wrong("--chat is missing: which chat is to be watched?")
	case o.run == "" && s.Given("after"):
		return s.Wrong("--after needs --run: a seq counts within one run")
	case forms > 1:
		return s.Wrong("--text, --raw and --folded exclude each other")
	}
	return nil
}

// tail prints a stream to its end.
func tail(ctx context.Context, stream *consumer.Stream, o tailOptions, std stdio) error {
	defer stream.Close()
	p := newPrinter(o, std)
	progress := newProgress(std, p)
	var end *subjects.End
	shown := false
	for {
		f, err := stream.Next(ctx)
		if err != nil {
			progress.clear()
			if o.run != "" && !shown && errors.Is(err, consumer.ErrUnavailable) {
				err = errNoRun
			}
			return errors.Join(p.close(), ended(ctx, stream, o.url, end, err))
		}
		shown = true
		if f.Type == consumer.End {
			end = &f.End
		}
		if err := p.frame(f); err != nil {
			return err
		}
		progress.show(f)
	}
}

// errNoRun is that the run named cannot be had, and nothing of it was shown.
var errNoRun = errors.New("there is no such run in this chat (any more)")

// ended turns what a stream ended with into an exit code and words for it.
func ended(ctx context.Context, stream *consumer.Stream, from string, end *subjects.End, err error) error {
	run, seq := stream.Cursor()
	again := ""
	if run != "" {
		again = fmt.Sprintf("; to come back: --run %s --after %d", printable(string(run)), seq)
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, consumer.ErrPersistence), errors.Is(err, consumer.ErrSuperseded):
		return &exitError{exitUnsaved, endWords(end)}
	case errors.Is(err, consumer.ErrIdle):
		return &exitError{exitIdle, "nothing is running in this chat, or its last run has ended and was saved; " +
			"--wait waits for a new one, --run shows that one while it is kept"}
	case errors.Is(err, errNoRun):
		return &exitError{exitFailed, errNoRun.Error()}
	case errors.Is(err, consumer.ErrUnavailable):
		return &exitError{exitFailed, "the run is not available any more: what is shown may be a part of it"}
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, "interrupted" + again}
	}
	return &exitError{exitFailed, printable(err.Error()) + hint(err, from) + again}
}

// endWords says how a run ended.
func endWords(e *subjects.End) string {
	if e == nil {
		return "the run has ended"
	}
	saved := "it was not saved"
	if e.Persisted {
		saved = "it was saved"
	}
	switch {
	case e.Superseded && e.NextRunID != "":
		return fmt.Sprintf("a newer run took the chat: %s", printable(string(e.NextRunID)))
	case e.Superseded:
		return "a newer run took the chat"
	}
	return fmt.Sprintf("the run has ended (%s), and %s", printable(string(e.Reason)), saved)
}

func chatName(p *string) config.Value {
	return config.Text(p, "NAME", fmt.Sprintf("1 to %d bytes of valid UTF-8", subjects.MaxOutside),
		func(s string) bool { return subjects.CheckChatID(s) == nil })
}

func runName(p *string) config.Value {
	return config.Text(p, "RUN", "a run's id, such as 2-06h2o87uktqv7cnk6qvir1g5e8", func(s string) bool {
		_, err := subjects.ParseRunID(s)
		return err == nil
	})
}
