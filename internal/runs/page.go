package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/subjects"
)

// A page bounds what one question may return: while the broker serves it, it holds
// a lock that publishing needs, and twenty pages of 4,096 at once stopped
// publishing for 4 s where pages of 256 did for 0.35 s.
const (
	pageRecords = 256
	pageBytes   = 1 << 20
)

// Page reads the records of a run from a stream sequence on, oldest first. It
// returns at least one record unless there are none, at most 256, and about 1 MiB
// more than fits into one record. It may be answered by a replica that lags or has
// lost messages: the caller checks the dense seqs.
func (s *Store) Page(ctx context.Context, id subjects.RunID, from uint64) ([]Stored, error) {
	if id.Partition() < 0 {
		return nil, fmt.Errorf("run %.60q: %w", id, ErrNotFound)
	}
	ask := directGet{Seq: max(from, 1), NextFor: subjects.RunSubject(id), Batch: pageRecords, MaxBytes: pageBytes}
	messages, _, err := s.direct(ctx, subjects.RunsStream(id.Partition()), ask)
	if err != nil {
		return nil, err
	}
	records := make([]Stored, 0, len(messages))
	for _, m := range messages {
		st, err := stored(m)
		if err != nil {
			return nil, err
		}
		records = append(records, st)
	}
	return records, nil
}

// directGet is the request of the broker's batched direct get.
type directGet struct {
	Seq      uint64   `json:"seq,omitempty"`
	NextFor  string   `json:"next_by_subj,omitempty"`
	Multi    []string `json:"multi_last,omitempty"`
	Batch    int      `json:"batch,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"`
}

// direct asks once and gathers the answers until the broker says that it has sent
// all. It uses no consumer: nothing is created on the broker, nothing has to be
// deleted, and a storm of readers asks nothing of a cluster's meta leader.
//
// More says that the broker stopped early, at MaxBytes or Batch.
func (s *Store) direct(ctx context.Context, stream string, ask directGet) (all []message, more bool, err error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, false, err
	}
	before := s.nc.LastError()
	err = s.question(ctx, func(ctx context.Context) (err error) {
		all, more, err = s.answers(ctx, stream, body, max(ask.Batch, len(ask.Multi)))
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", stream, s.unanswered(err, s.api+"DIRECT.GET."+stream, before))
	}
	return all, more, nil
}

// answers sends a direct get and gathers its answers, of which there are at most most.
func (s *Store) answers(ctx context.Context, stream string, ask []byte, most int) (all []message, more bool, err error) {
	inbox, answers, over, err := s.replies.expect(most + 1)
	if err != nil {
		return nil, false, err
	}
	defer over()
	if err := s.nc.PublishRequest(s.api+"DIRECT.GET."+stream, inbox, ask); err != nil {
		return nil, false, err
	}
	for {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case m := <-answers:
			last, err := endOfAnswers(m)
			if err != nil {
				return nil, false, err
			}
			if last {
				pending := m.Header.Get("Nats-Num-Pending")
				return all, pending != "" && pending != "0", nil
			}
			got, err := directMessage(m)
			if err != nil {
				return nil, false, err
			}
			if all = append(all, got); len(all) > most {
				return nil, false, fmt.Errorf("more than the %d answers that were asked for", most)
			}
		}
	}
}

// endOfAnswers tells a status message from a stored one: 204 ends a batch, 404 says
// that nothing matches, 503 that nobody serves the stream. Only a stored one has a
// stream sequence; the broker's own 503 has a subject.
func endOfAnswers(m *nats.Msg) (bool, error) {
	if len(m.Data) > 0 || m.Header.Get("Nats-Sequence") != "" {
		return false, nil
	}
	switch status := m.Header.Get("Status"); status {
	case "":
		return false, nil
	case "204", "404":
		return true, nil
	case "503":
		return false, ErrLogLost
	default:
		return false, fmt.Errorf("the broker answered %s %s", status, m.Header.Get("Description"))
	}
}

func directMessage(m *nats.Msg) (message, error) {
	got := message{subject: m.Header.Get("Nats-Subject"), header: m.Header, data: m.Data}
	var err error
	if got.seq, err = strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64); err != nil {
		return got, fmt.Errorf("answer without a stream sequence: %w", err)
	}
	got.time, err = time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
	return got, err
}

// eachKey calls f with the newest value of every key that matches a subject, markers
// of deleted keys left out, in pages. A key that changes meanwhile may come twice
// but is never missed, since a change moves it behind all others.
func (s *Store) eachKey(ctx context.Context, stream, subject string, f func(message)) error {
	return s.eachKeyFrom(ctx, stream, subject, 1, f)
}

// eachKeyFrom is eachKey for what is stored at a stream sequence or behind it.
func (s *Store) eachKeyFrom(ctx context.Context, stream, subject string, from uint64, f func(message)) error {
	ask := directGet{Seq: from, NextFor: subject, Batch: pageRecords, MaxBytes: pageBytes}
	for {
		page, more, err := s.direct(ctx, stream, ask)
		if err != nil {
			return err
		}
		for _, m := range page {
			if !m.deleted() {
				f(m)
			}
			ask.Seq = m.seq + 1
		}
		if !more || len(page) == 0 {
			return nil
		}
	}
}
