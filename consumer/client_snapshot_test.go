package consumer_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/subjects"
)

func TestSnapshotForPollers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		r := newRelay(t, func(w http.ResponseWriter, req *http.Request) {
			tag, end := `"0-r/1:2"`, "null"
			if ended {
				tag, end = `"0-r/1:2:end"`, `{"persisted":false,"superseded":true,"reason":"superseded","next_run_id":"r2"}`
			}
			if req.URL.EscapedPath() != "/at/runs/0-r%2F1/snapshot" {
				http.Error(w, req.URL.EscapedPath(), http.StatusNotFound)
				return
			}
			w.Header().Set("ETag", tag)
			if req.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, `{"run_id":"0-r/1","seq":2,"events":[`+nth(1)+","+nth(2)+`],"end":`+end+"}\n")
		})
		snap, err := r.client.Snapshot(t.Context(), "0-r/1", "")
		require.NoError(t, err)
		require.Equal(t, consumer.RunSnapshot{RunID: "0-r/1", Seq: 2, Events: []byte(upTo(2)), ETag: `"0-r/1:2"`}, snap)
		_, err = r.client.Snapshot(t.Context(), "0-r/1", snap.ETag)
		require.ErrorIs(t, err, consumer.ErrNotModified)
		ended = true
		snap, err = r.client.Snapshot(t.Context(), "0-r/1", snap.ETag)
		require.NoError(t, err)
		require.Equal(t, &subjects.End{Superseded: true, Reason: subjects.ReasonSuperseded, NextRunID: "r2"}, snap.End)
		_, err = r.client.Snapshot(t.Context(), "0-r/2", "")
		var status *consumer.HTTPError
		require.ErrorAs(t, err, &status)
		require.Equal(t, 404, status.Status)
		r.client.MaxMessage = 10
		_, err = r.client.Snapshot(t.Context(), "0-r/1", "")
		require.ErrorIs(t, err, consumer.ErrTooLarge)
		r.client.BaseURL = "nowhere"
		_, err = r.client.Snapshot(t.Context(), "0-r/1", "")
		require.ErrorContains(t, err, "base URL")
	})
}

func TestSnapshotThatIsNone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `[]`, `{}`, `{"run_id":"r","seq":1,"events":[]}`, `{"run_id":"r","seq":1,"events":[],"end":true}`,
		`{"run_id":"r","seq":1,"events":[],"end":{"persisted":true}}`, `{"run_id":"r","seq":1,"events":[],"end":null`,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := newRelay(t, problem(200, "application/json", body)).client.Snapshot(t.Context(), "r", "")
			require.ErrorIs(t, err, consumer.ErrFrame, body)
		})
	}
}

func TestSnapshotThatStalls(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no rest":   stream(`{"run_id":`, time.Hour),
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := newRelay(t, a).client.Snapshot(t.Context(), "r", "")
			require.ErrorIs(t, err, consumer.ErrTimeout, name)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := newRelay(t, stream(strings.Repeat("x", 100), cut{})).client.Snapshot(t.Context(), "r", "")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}
