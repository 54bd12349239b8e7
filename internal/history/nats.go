package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// attemptTimeout bounds one question to the broker; what is asked is asked again, and
// what is stored is settled.
const attemptTimeout = 3 * time.Second

// questions is how often something that may be asked again is asked.
const questions = 3

// Error codes of the JetStream API that decisions hang on.
const (
	codeNoMessage      = 10037
	codeStreamNotFound = 10059
	codeExceedsMaximum = 10054
)

// expectLastOfSubject is the header of a compare-and-set, which the broker keeps.
const expectLastOfSubject = jetstream.ExpectedLastSubjSeqHeader

// stored is one message of a chat's subject; seq 0 stands for no message.
type stored struct {
	mark
	seq  uint64
	prev uint64    // sequence of the message before it on the subject; 0 for none
	time time.Time // when the broker stored it, by its own clock
	data []byte
	bad  bool // the mark could not be read
}

// ask publishes a message and waits for the answer. It also returns when the connection
// comes back, since an answer that was lost with the old one never comes.
func (h *History) ask(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	nc, back := h.store.Conn(), h.store.Reconnected()
	answers := make(chan *nats.Msg, 1)
	m.Reply = nc.NewInbox()
	sub, err := nc.ChanSubscribe(m.Reply, answers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishMsg(m); err != nil {
		return nil, runs.NotConnected(err)
	}
	select {
	case a := <-answers:
		if len(a.Data) == 0 && a.Header.Get("Status") == "503" {
			return nil, nats.ErrNoResponders
		}
		return a, nil
	case <-back:
		return nil, errReconnected
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// last reads a subject's last message at the leader; seq 0 where there is none.
func (h *History) last(ctx context.Context, subject string) (stored, error) {
	m, err := h.get(ctx, subject, map[string]any{"last_by_subj": subject})
	if errors.Is(err, errNone) {
		return stored{}, nil
	}
	return m, err
}

// get reads one message at the leader. It returns errNone where there is none, or one
// of another subject, and ErrNoStream.
func (h *History) get(ctx context.Context, subject string, which map[string]any) (stored, error) {
	body, err := json.Marshal(which)
	if err != nil {
		return stored{}, err
	}
	var reply *nats.Msg
	for range questions {
		reply, err = h.ask(ctx, &nats.Msg{Subject: h.api + "STREAM.MSG.GET." + subjects.HistoryStream, Data: body})
		if lost := errors.Is(err, errReconnected) || errors.Is(err, context.DeadlineExceeded); !lost || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return stored{}, fmt.Errorf("asking the leader of %s: %w", subjects.HistoryStream, err)
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
		return stored{}, fmt.Errorf("answer of the leader of %s: %w", subjects.HistoryStream, err)
	}
	switch e := answer.Error; {
	case e != nil && e.ErrorCode == codeNoMessage:
		return stored{}, errNone
	case e != nil && e.ErrorCode == codeStreamNotFound:
		return stored{}, ErrNoStream
	case e != nil:
		return stored{}, fmt.Errorf("asking the leader of %s: %w", subjects.HistoryStream, e)
	case answer.Message.Subject != subject:
		return stored{}, errNone
	}
	m := parse(answer.Message.Seq, answer.Message.Header, answer.Message.Data)
	m.time = answer.Message.Time
	return m, nil
}

// parse reads a message. Headers that cannot be read make it bad and are no error: the
// next writer goes on behind it.
func parse(seq uint64, header, data []byte) stored {
	m := stored{seq: seq, data: data, bad: true}
	h, err := nats.DecodeHeadersMsg(header)
	if err != nil {
		return m
	}
	m.mark, err = parseMark(h)
	m.bad = err != nil
	if prev, err := strconv.ParseUint(h.Get(expectLastOfSubject), 10, 64); err == nil && prev < seq {
		m.prev = prev
	}
	return m
}

// publish stores one message behind the one with sequence prev, and returns its own.
// After an error it is unknown whether it was stored.
func (h *History) publish(ctx context.Context, subject string, m *mark, data []byte, prev uint64) (uint64, error) {
	header := m.header()
	header.Set(expectLastOfSubject, strconv.FormatUint(prev, 10))
	reply, err := h.ask(ctx, &nats.Msg{Subject: subject, Header: header, Data: data})
	if err != nil {
		return 0, fmt.Errorf("storing a turn: %w", err)
	}
	var ack struct {
		Error  *jetstream.APIError `json:"error"`
		Stream string              `json:"stream"`
		Seq    uint64              `json:"seq"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("the broker's answer to a turn: %w", err)
	}
	if ack.Error != nil {
		return 0, fmt.Errorf("storing a turn: %w", ack.Error)
	}
	if ack.Seq == 0 || ack.Stream != subjects.HistoryStream {
		return 0, fmt.Errorf("storing a turn: stream %.40q answered", ack.Stream)
	}
	return ack.Seq, nil
}

// hopeless says whether storing the same bytes again can never succeed.
func hopeless(err error) bool {
	if errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeExceedsMaximum
}
