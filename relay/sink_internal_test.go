package relay

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// Whatever is written in between, at any distance from when the timer runs, the next comment
// comes when nothing was written for as long as may be, not later and not before.
func TestPROXY02_KeepAliveIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		want, now, seq := []string{"0s :"}, time.Duration(0), uint64(0)
		for _, after := range []time.Duration{0, 1, time.Millisecond, 3 * time.Second, 10*time.Second - 1, 10*time.Second + 1,
			7 * time.Second, 25 * time.Second, linger, 10*time.Second - linger, 9 * time.Second, 31 * time.Second, 1} {
			s.polls = append(s.polls, s.nothing(after))
			for range after / (10 * time.Second) {
				want = append(want, fmt.Sprint(now+10*time.Second, " :"))
				now += 10 * time.Second
				after -= 10 * time.Second
			}
			seq++
			now += after
			s.polls = append(s.polls, event(seq, "{}"))
			want = append(want, fmt.Sprintf("%v r:%d", now, seq))
		}
		require.Equal(t, causeEnd, play(t, w, protocol1{}, s, nil))
		require.Equal(t, want, w.flushed)
	})
}

// What is at hand when the broker goes away goes out at once.
func TestAnOutageHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWireLog(), &script{}
		s.polls = []poll{event(1, "{}"), fails(consumer.ErrBrokerUnavailable), event(2, "{}"), func(context.Context) (consumer.Frame, bool, error) {
			return consumer.Frame{}, false, io.EOF
		}}
		require.Equal(t, causeEnd, play(t, w, protocol1{}, s, nil))
		require.Equal(t, []string{"0s :", "0s r:1"}, w.flushed[:2])
	})
}

// A row may have been silent for a while when it gives a stream back, which is not silent for
// longer than the rest of the time; one that it held for a moment has its own time.
func TestPROXY02_AStreamThatIsGivenBackIsNotSilentForLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWireLog()
		out := newSink(w, nil, 8*time.Second, time.Second, func(error) {})
		defer out.close()
		require.NoError(t, out.comment())
		require.NoError(t, out.lend())
		time.Sleep(time.Minute) // the row writes
		require.NoError(t, out.takeBack(&member{bytes: 1}))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"0s :", "1m2s :", "1m10s :"}, w.flushed)

		require.NoError(t, out.lend()) // since that comment, nothing is due
		time.Sleep(time.Second)
		require.NoError(t, out.takeBack(&member{}))
		time.Sleep(7 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"0s :", "1m2s :", "1m10s :", "1m18s :"}, w.flushed)

		time.Sleep(time.Second)
		require.NoError(t, out.lend())
		time.Sleep(5 * time.Second) // the row has had nothing to write yet
		require.NoError(t, out.takeBack(&member{}))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"0s :", "1m2s :", "1m10s :", "1m18s :", "1m26s :"}, w.flushed)
	})
}
