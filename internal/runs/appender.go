package runs

import (
	"context"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/subjects"
)

// Appender appends to one run's log for a writer that does not wait, and has one record on
// its way at a time. What it tells is the outcome of one attempt; where that is an error,
// Resolve does what Append does after its first one. Only Withdraw may be called while a
// record is on its way.
type Appender struct {
	store   *Store
	subject string
	done    func(streamSeq uint64, err error)
	letter  *letter // guarded by post.mu where it is changed; nil before the first record
	over    bool    // guarded by post.mu
}

// Appender makes the appender of a run. done is called once for each record that was
// sent, with its stream sequence or what went wrong, and never from within Send. Who
// calls it does so for all runs, so it must not wait for anything.
func (s *Store) Appender(id subjects.RunID, done func(streamSeq uint64, err error)) *Appender {
	return &Appender{store: s, subject: subjects.RunSubject(id), done: done}
}

// Send has r published as the successor of the record at stream sequence prev, and waits for
// nothing. r's body must not change until done was called, and never where done gets an
// error. An error of Send says that r will not be sent, and done is not called.
func (a *Appender) Send(r *subjects.Record, prev uint64) error {
	return a.store.post.take(a.address(r, prev), true)
}

// Withdraw gives up what is on its way, with context.Canceled, and nothing is sent any more.
// Whether what was given up is stored is unknown.
func (a *Appender) Withdraw() {
	p := a.store.post
	p.mu.Lock()
	a.over = true
	l := a.letter
	p.mu.Unlock()
	if l != nil {
		p.withdraw(l, context.Canceled)
	}
}

// address writes r's letter, on the paper of the one before where nobody reads that any more.
func (a *Appender) address(r *subjects.Record, prev uint64) *letter {
	l := a.letter
	if l == nil || !l.free.Load() {
		l = a.newLetter()
	}
	l.before = a.store.post.lastError()
	l.msg.Data = r.Body
	l.msg.Header[subjects.RecordHeader][0] = r.Header()
	l.msg.Header[jetstream.ExpectedLastSubjSeqHeader][0] = strconv.FormatUint(prev, 10)
	return l
}

func (a *Appender) newLetter() *letter {
	l := &letter{of: a}
	l.msg.Subject = a.subject
	l.msg.Header = nats.Header{subjects.RecordHeader: {""}, jetstream.ExpectedLastSubjSeqHeader: {""}}
	l.back = func(ack *nats.Msg, err error) {
		seq, err := a.store.outcome(a.subject, ack, l.before, err)
		if err != nil {
			a.keep(nil) // it may still be in the queue
		}
		a.done(seq, err)
	}
	a.keep(l)
	return l
}

func (a *Appender) keep(l *letter) {
	p := a.store.post
	p.mu.Lock()
	defer p.mu.Unlock()
	a.letter = l
}
