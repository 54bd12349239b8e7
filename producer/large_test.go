package producer_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/agui"
	"github.com/rejoin/rejoin/internal/natsd"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// sized is an event of exactly so many bytes.
func sized(n int) []byte {
	const head, tail = `{"type":"CUSTOM","name":"n","value":"`, `"}`
	return append(append([]byte(head), bytes.Repeat([]byte{'x'}, n-len(head)-len(tail))...), tail...)
}

func TestEventsOfEverySize(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]natsd.Config{"large messages": {}, "small messages": {MaxPayload: 64 << 10}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := broker(t, cfg)
			p := newProcess(t, s, producer.Config{})
			r := p.start(t, "c")
			limit := int(p.nc.MaxPayload()) - subjects.HeaderRoom
			var want [][]byte
			sizes := []int{100, subjects.MaxRecordBytes - 1, subjects.MaxRecordBytes, subjects.MaxRecordBytes + 1,
				limit - 1, limit, limit + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2 * limit, 2*limit + 1}
			if cfg.MaxPayload == 0 {
				sizes = []int{100, limit, limit + 1, 5 << 20, 16 << 20}
			}
			for _, n := range sizes {
				for _, e := range [][]byte{sized(n), text(n)} { // a small one beside each
					_, err := r.Publish(within(t), e)
					require.NoError(t, err)
					want = append(want, e)
				}
			}
			_, err := r.Publish(within(t), sized(16<<20+1))
			require.ErrorIs(t, err, producer.ErrTooLarge)
			require.NotErrorIs(t, err, producer.ErrEvent)
			var refused *producer.EventError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, 16<<20, refused.Limit)

			stored, err := r.Flush(within(t))
			require.NoError(t, err)
			require.EqualValues(t, len(want), stored)
			// Another writer goes on from what the log and the segments hold.
			next, err := newProcess(t, s, producer.Config{}).Resume(within(t), r.ID())
			require.NoError(t, err)
			_, err = next.Publish(within(t), custom(1))
			require.NoError(t, err)
			want = append(want, custom(1))
			_, err = next.Finish(within(t), producer.FinishOptions{})
			require.NoError(t, err)

			got, _ := p.events(t, r.ID())
			require.Len(t, got, len(want))
			for i := range want {
				require.True(t, bytes.Equal(want[i], got[i]), "event %d of %d bytes", i+1, len(want[i]))
			}
			require.Equal(t, len(want), p.covered(t, r.ID()))
			if cfg.MaxPayload == 0 {
				return // one comparison of so much is enough
			}
			var all, folded agui.Fold
			for _, e := range want {
				_, err := all.AddLines(e)
				require.NoError(t, err)
			}
			for seg, err := range p.store.Segments(within(t), r.ID(), 0) {
				require.NoError(t, err)
				_, err = folded.AddLines(seg.Events)
				require.NoError(t, err)
			}
			require.True(t, bytes.Equal(all.Cut(), folded.Cut()))
		})
	}
}

func TestWhatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{MaxEventBytes: 100})
	r := p.start(t, "c")
	for _, e := range []string{"", "x", "[]", "null", `"x"`, "{}", `{"type":1}`, `{"type":""}`, `{"type":"A"}{}`, "{\"type\":\"\xff\"}"} {
		_, err := r.Publish(within(t), []byte(e))
		require.ErrorIs(t, err, producer.ErrEvent, e)
		require.NotErrorIs(t, err, producer.ErrTooLarge, e)
		require.ErrorIs(t, err, agui.ErrInvalid, e)
	}
	_, err := r.Publish(within(t), append([]byte{'{'}, bytes.Repeat([]byte{' '}, 100)...))
	require.ErrorIs(t, err, producer.ErrTooLarge, "too large comes before anything else")
	_, err = r.Publish(within(t), sized(101))
	require.ErrorIs(t, err, producer.ErrTooLarge)
	seq, err := r.Publish(within(t), sized(100))
	require.NoError(t, err)
	require.EqualValues(t, 1, seq, "what was refused has no number")
	// Line breaks between tokens are no part of an event.
	_, err = r.Publish(within(t), []byte("\r\n{\n\t\"type\" :\r\n\"CUSTOM\"\n}\n"))
	require.NoError(t, err)
	_, err = r.Flush(within(t))
	require.NoError(t, err)
	got, _ := p.events(t, r.ID())
	require.Equal(t, "{\t\"type\" :\"CUSTOM\"}", string(got[1]))
}

func TestPublishAtIsExact(t *testing.T) {
	t.Parallel()
	p := newProcess(t, broker(t, natsd.Config{}), producer.Config{})
	r := p.start(t, "c")
	for _, tc := range []struct {
		seq   uint64
		fresh bool
		gap   uint64
	}{{2, false, 1}, {1, true, 0}, {1, false, 0}, {3, false, 2}, {2, true, 0}, {1, false, 0}, {0, false, 3}, {subjects.MaxSeq, false, 3}, {3, true, 0}} {
		fresh, err := r.PublishAt(within(t), tc.seq, fmt.Appendf(nil, `{"type":"CUSTOM","value":%d}`, tc.seq))
		require.Equal(t, tc.fresh, fresh, tc)
		if tc.gap == 0 {
			require.NoError(t, err)
			continue
		}
		var gap *producer.GapError
		require.ErrorAs(t, err, &gap)
		require.Equal(t, tc.gap, gap.Expected)
		require.ErrorIs(t, err, producer.ErrGap)
	}
	_, err := r.Flush(within(t))
	require.NoError(t, err)
	got, _ := p.events(t, r.ID())
	require.Len(t, got, 3)
}
