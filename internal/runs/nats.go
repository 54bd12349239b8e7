package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// attemptTimeout bounds one question to the broker. A leader's election takes up
// to 8 s; asking again meanwhile is cheap and what is asked twice is settled.
const attemptTimeout = 3 * time.Second

// kvOperation is the header that tells a deleted key's marker from a value.
const kvOperation = "KV-Operation"

// putHeader carries the token of the attempt that stored a value.
const putHeader = "Rejoin-Put"

// Error codes of the JetStream API that decisions hang on.
const (
	codeNoMessage         = 10037
	codeStreamNotFound    = 10059
	codeWrongLastSeq      = 10071
	codeWrongLastSeqConst = 10164 // the same, and on replicated streams sometimes nothing at all
)

// message is one stored message.
type message struct {
	subject string
	seq     uint64
	header  nats.Header
	data    []byte
	time    time.Time
}

// deleted says whether the message is the marker of a deleted key.
func (m *message) deleted() bool {
	op := m.header.Get(kvOperation)
	return op != "" || m.header.Get(jetstream.MarkerReasonHeader) != ""
}

// question asks something that may be asked twice, within attemptTimeout. What is lost
// with the connection is asked anew as soon as there is another.
func (s *Store) question(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	for {
		try, done := s.untilReconnect(ctx)
		err := ask(try)
		again := err != nil && try.Err() != nil && ctx.Err() == nil
		done()
		if !again {
			return err
		}
	}
}

// lastOf reads a subject's last message at the stream's leader, never at a
// replica. It returns ErrNotFound or ErrLogLost (no such stream), or what kept the
// broker from answering. Who asks the same at the same time may share the answer, which
// is not to be changed.
func (s *Store) lastOf(ctx context.Context, stream, subject string) (message, error) {
	return s.together.ask(ctx, stream+" "+subject, func() (message, error) {
		return s.atLeader(ctx, stream, map[string]any{"last_by_subj": subject})
	})
}

// firstOf is lastOf for a subject's first message from a stream sequence on.
func (s *Store) firstOf(ctx context.Context, stream, subject string, from uint64) (message, error) {
	return s.atLeader(ctx, stream, map[string]any{"seq": from, "next_by_subj": subject})
}

func (s *Store) atLeader(ctx context.Context, stream string, which map[string]any) (message, error) {
	ask, err := json.Marshal(which)
	if err != nil {
		return message{}, err
	}
	var reply *nats.Msg
	subject, before := s.api+"STREAM.MSG.GET."+stream, s.nc.LastError()
	err = s.question(ctx, func(ctx context.Context) (err error) {
		reply, err = s.nc.RequestWithContext(ctx, subject, ask)
		return err
	})
	if err != nil {
		return message{}, fmt.Errorf("asking the leader of %s: %w", stream, s.unanswered(err, subject, before))
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return message{}, fmt.Errorf("answer of the leader of %s: %w", stream, err)
	}
	if e := answer.Error; e != nil {
		switch e.ErrorCode {
		case codeNoMessage:
			return message{}, ErrNotFound
		case codeStreamNotFound:
			return message{}, fmt.Errorf("%w: stream %s does not exist", ErrLogLost, stream)
		}
		return message{}, fmt.Errorf("asking the leader of %s: %w", stream, e)
	}
	m := message{subject: answer.Message.Subject, seq: answer.Message.Seq, data: answer.Message.Data, time: answer.Message.Time}
	if len(answer.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return message{}, fmt.Errorf("header of message %d in %s: %w", m.seq, stream, err)
		}
	}
	return m, nil
}

// put publishes m and returns its stream sequence. Where expect is not nil the
// subject's last message must have that sequence (0: none); ErrConflict says that
// it has not, or that the broker could not tell. After any other error it is
// unknown whether m was stored.
func (s *Store) put(ctx context.Context, m *nats.Msg, expect *uint64) (uint64, error) {
	if expect != nil {
		if m.Header == nil {
			m.Header = nats.Header{}
		}
		m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(*expect, 10)}
	}
	return s.deliver(ctx, m)
}

// deliver is put of a message that has its expectation already.
func (s *Store) deliver(ctx context.Context, m *nats.Msg) (uint64, error) {
	ack, before, err := s.post.send(ctx, m)
	return s.outcome(m.Subject, ack, before, err)
}

// outcome is what came of a message to a subject: ack was answered, or err is why nothing was.
// before is what the connection's last error was when it was sent.
func (s *Store) outcome(subject string, ack *nats.Msg, before, err error) (uint64, error) {
	if err == nil {
		var seq uint64
		if seq, err = ackOf(ack); err == nil {
			return seq, nil
		}
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeWrongLastSeq, codeWrongLastSeqConst:
			return 0, ErrConflict
		}
	}
	return 0, fmt.Errorf("storing on %s: %w", subject, s.unanswered(err, subject, before))
}

// putKey stores a value of a bucket by compare-and-set: expect is the revision it
// replaces, 0 for a new key. token marks the attempt, so that a lost answer can be
// told from somebody else's success with the same bytes.
func (s *Store) putKey(ctx context.Context, subject string, value []byte, expect uint64, token string) (uint64, error) {
	m := &nats.Msg{Subject: subject, Data: value, Header: nats.Header{putHeader: {token}}}
	return s.put(ctx, m, &expect)
}

// deleteKey replaces a value by a marker that goes away by itself.
func (s *Store) deleteKey(ctx context.Context, subject string, expect uint64, markerTTL time.Duration) error {
	_, err := s.put(ctx, marker(subject, markerTTL), &expect)
	return err
}

// marker says that a key is deleted.
func marker(subject string, ttl time.Duration) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: nats.Header{
		kvOperation:            {"PURGE"},
		jetstream.MsgRollup:    {jetstream.MsgRollupSubject},
		jetstream.MsgTTLHeader: {ttl.String()},
	}}
}

// purge removes every message on a subject, wildcards included.
func (s *Store) purge(ctx context.Context, stream, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	st, err := s.js.Stream(ctx, stream)
	if err == nil {
		err = st.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("purging %s: %w", subject, NotConnected(err))
	}
	return nil
}
