package consumer_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

const (
	noneLive = "event: snapshot\ndata: {\"runs\":[]}\n\n"
	oneLive  = "event: snapshot\ndata: {\"runs\":[{\"run_id\":\"r1\",\"chat_id\":\"c\",\"kind\":\"send\",\"state\":\"running\"}],\"truncated\":true}\n\n"
	oneEnded = "event: run\ndata: {\"run_id\":\"r1\",\"chat_id\":\"c\",\"kind\":\"send\",\"state\":\"ended\",\"persisted\":true,\"superseded\":false,\"reason\":\"done\"}\n\n"
	unknown  = ": \n\nevent: weather\ndata: fine\n\n"
)

// follow gathers updates up to the error, or as many as are wanted.
func (r *relay) follow(want int) (all []consumer.ActiveUpdate, err error) {
	for u, err := range r.client.Active(r.t.Context()) {
		if err != nil {
			return all, err
		}
		if all = append(all, u); len(all) == want {
			break
		}
	}
	return all, nil
}

func TestActiveComesBackWithASnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, stream(noneLive, unknown, oneEnded), status(http.StatusServiceUnavailable, "Retry-After", "1"),
			stream(oneLive, cut{}), stream("retry: 10\n\n", oneLive, oneEnded))
		all, err := r.follow(5)
		require.NoError(t, err)
		require.Len(t, r.requests(), 4)
		require.Empty(t, all[0].Runs)
		require.Nil(t, all[0].Run)
		require.Equal(t, &consumer.ActiveRun{RunID: "r1", ChatID: "c", Kind: "send", State: "ended",
			End: &subjects.End{Persisted: true, Reason: subjects.ReasonDone}}, all[1].Run)
		require.True(t, all[2].Truncated)
		require.Nil(t, all[2].Runs[0].End)
		require.Equal(t, all[2], all[3])
		require.Equal(t, all[1], all[4])
	})
}

func TestActiveGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, status(http.StatusForbidden))
		_, err := r.follow(1)
		var refused *consumer.HTTPError
		require.ErrorAs(t, err, &refused)
		require.Len(t, r.requests(), 1)

		r = newRelay(t, status(http.StatusServiceUnavailable))
		_, err = r.follow(1)
		require.ErrorIs(t, err, consumer.ErrInterrupted)
		require.Len(t, r.requests(), 5)

		r = newRelay(t, stream("event: snapshot\ndata: [\n\n"))
		_, err = r.follow(1)
		require.ErrorIs(t, err, consumer.ErrFrame)

		r = newRelay(t, stream(noneLive))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range r.client.Active(ctx) {
			cancel()
			if n++; err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		require.Equal(t, 2, n)
		for _, err := range (&consumer.Client{}).Active(t.Context()) {
			require.ErrorContains(t, err, "base URL")
		}
	})
}
