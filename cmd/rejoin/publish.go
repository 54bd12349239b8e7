package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rejoin/rejoin/internal/config"
	"github.com/rejoin/rejoin/subjects"
)

// publishOptions are the flags of publish.
type publishOptions struct {
	url, chat, run      string
	owner, kind, active string
	firstSeq            uint64
	persisted, noEnd    bool
	reason              string
	maxEvent            int
	patience            time.Duration
}

var publishCommand = command{
	name: "publish",
	about: config.About{
		Summary: "read events from standard input, one a line, and publish them as a run",
		Text: `Each line is one AG-UI event: a JSON object with a string "type". Empty lines are passed over. The run's id
is written to standard output at once, a summary to standard error at the end.

Events go out as they are read. What the relay has not acknowledged is kept, and sent again when the
connection breaks, without being stored twice. A line that is refused ends it, and the run with the reason
error; the lines before it are stored.

Exit codes: 0 everything is stored, and the run ended; 1 it failed; 2 a flag is wrong; 130 interrupted with
Ctrl-C: what was read is stored, and the run ended as stopped.`,
		Examples: []string{
			"my-agent | rejoin publish --chat c1 --persisted",
			"rejoin publish --chat c1 --no-end < first-half.ndjson",
			"rejoin publish --chat c1 --run 2-06h2o87uktqv7cnk6qvir1g5e8 --first-seq 1 < everything.ndjson",
		},
	},
	flags: func(s *config.Set) action {
		o := publishOptions{active: "supersede", reason: string(subjects.ReasonDone), maxEvent: subjects.MaxEventBytes, patience: time.Minute}
		log := urlFlag(s, &o.url)
		var by credential
		credentialFlags(s, &by)
		s.Add(chatName(&o.chat), "chat", "The chat in which a run is started. With --run it may be left out; a run of another chat is refused.")
		s.Add(runName(&o.run), "run", "Go on with this run instead of starting one.")
		s.Add(config.Number(&o.firstSeq, 0, subjects.MaxSeq), "first-seq",
			"With --run: the seq of the first line. Lines that are stored already are passed over, so that a whole file\ncan be published again. 0 means that the lines follow what the run has.")
		s.Add(config.Text(&o.owner, "NAME", "up to 256 bytes of valid UTF-8", nil), "owner", "Whose run it is.")
		s.Add(config.Text(&o.kind, "WORD", "up to 64 bytes of valid UTF-8", nil), "kind", "What the turn is, such as send or retry.")
		s.Add(config.OneOf(&o.active, "supersede", "reject"), "on-active", "What to do about an active run in the chat: take the chat from it, or fail.")
		s.Add(config.Switch(&o.noEnd), "no-end", "Leave the run open. It ends as abandoned unless somebody goes on with it within the lease time.")
		s.Add(config.OneOf(&o.reason, "done", "error", "stopped", "skipped", "save_failed"), "reason", "Why the run ends.")
		s.Add(config.Switch(&o.persisted), "persisted", "Say that the result is saved. Observers then need not be told otherwise.")
		s.Add(config.Size(&o.maxEvent, 1, 64<<20), "max-event", "The largest line.")
		s.Add(config.Duration(&o.patience, 0, day), "patience", "How long to try again, without getting further, before giving up.")
		log.add(s)
		return func(ctx context.Context, std stdio) error {
			switch {
			case o.chat == "" && o.run == "":
				return s.Wrong("--chat is missing: in which chat is the run?")
			case o.run == "" && o.firstSeq > 0:
				return s.Wrong("--first-seq needs --run: a new run begins at 1")
			case o.noEnd && (o.persisted || s.Given("reason")):
				return s.Wrong("--no-end excludes --persisted and --reason")
			}
			logger, err := std.logger(*log)
			if err != nil {
				return err
			}
			token, err := by.source(s)
			if err != nil {
				return err
			}
			err = publish(ctx, &api{base: o.url, log: logger, patience: o.patience, token: token}, o, std)
			if more := hint(err, o.url); more != "" {
				err = fmt.Errorf("%w%s", err, more)
			}
			return err
		}
	},
}

// stopTime is how long storing and ending may take once the command was interrupted.
const stopTime = 5 * time.Second

// publish starts the run or goes on with it, feeds it and ends it.
func publish(ctx context.Context, a *api, o publishOptions, std stdio) error {
	defer a.close()
	run, last, err := begin(ctx, a, o)
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, "interrupted"}
	case err != nil:
		return err
	}
	fmt.Fprintln(std.out, run)
	in := readLines(std.in, o.maxEvent)
	defer in.stop()
	f := &feed{api: a, run: run, next: last + 1, in: in}
	if o.firstSeq > 0 {
		f.next = o.firstSeq
	}

	from := time.Now()
	// Interrupted, it still stores what it has read, for a while.
	storing, cancel := outlive(ctx, stopTime)
	defer cancel()
	fed := f.all(ctx, storing)
	end := endRequest{Persisted: o.persisted, Reason: o.reason}
	switch {
	case fed != nil:
		end = endRequest{Reason: string(subjects.ReasonError)}
		if temporary(fed) {
			a.patience = 0 // it was patient enough; this is the last attempt
		}
	case ctx.Err() != nil:
		end = endRequest{Reason: string(subjects.ReasonStopped)}
	}
	state := "" // nothing is known of a run that somebody else ended or took
	if !final(fed) {
		said := "left open"
		if !o.noEnd {
			said, err = conclude(storing, a, run, end)
			fed = both(fed, err)
		}
		state = fmt.Sprintf("; the run is at seq %d; %s", max(last, f.next-1), said)
	}
	fmt.Fprintf(std.err, "published %s in %v%s\n", counted(f.stored, "line"), time.Since(from).Round(time.Millisecond), state)
	if fed == nil && ctx.Err() != nil {
		return &exitError{exitInterrupted, "interrupted"}
	}
	return fed
}

// begin gives the run to feed and the seq of its last event.
func begin(ctx context.Context, a *api, o publishOptions) (run string, last uint64, err error) {
	if o.run == "" {
		run, err = a.start(ctx, o)
		return run, 0, err
	}
	if o.chat != "" {
		chat, err := a.chatOf(ctx, o.run)
		switch {
		case err != nil:
			return "", 0, err
		case chat != o.chat:
			return "", 0, &exitError{exitUsage, fmt.Sprintf(
				"--chat is %q, but the run %s is in the chat %q; with --run, --chat may be left out", o.chat, o.run, chat)}
		}
	}
	last, err = a.lastSeq(ctx, o.run)
	return o.run, last, err
}

// both is errors.Join on one line.
func both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// conclude ends the run and says how that went.
func conclude(ctx context.Context, a *api, run string, end endRequest) (said string, err error) {
	if err := a.end(ctx, run, end); err != nil {
		return "its end is not stored", fmt.Errorf("ending the run: %w", err)
	}
	said = "it has ended (" + end.Reason + ")"
	if end.Persisted {
		said += " as saved"
	}
	return said, nil
}

// final says that the run is not to be ended by this command: it has its end, or
// belongs to somebody else, or does not exist.
func final(err error) bool {
	var p *problemError
	return errors.As(err, &p) && (p.Code == "run_ended" || p.Code == "fenced" || p.Code == "not_found")
}

// outlive is ctx and some time more.
func outlive(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(more, cancel) })
	return out, func() {
		stop()
		cancel()
	}
}
