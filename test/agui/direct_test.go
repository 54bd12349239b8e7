package agui_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden.json from what the stock client makes of the recordings")

func TestStockClientReadsAgentDirectly(t *testing.T) {
	t.Parallel()
	all := recordings(t)
	jobs := make([]job, len(all))
	for i, r := range all {
		jobs[i] = job{r.input, agent(t, r.sse)}
	}
	for i, got := range read(t, jobs...) {
		t.Run(all[i].name, func(t *testing.T) {
			if *update {
				writeGolden(t, all[i], got)
			}
			requireGolden(t, all[i], got)
		})
	}
}

// requireGolden requires that the client ended up with what the agent itself leaves it with.
func requireGolden(t *testing.T, r recording, got verdict) {
	t.Helper()
	var want verdict
	readJSON(t, goldenPath(r), &want, "")
	require.Equal(t, want.Outcome, got.Outcome, "error: %+v, log: %q", got.Error, got.Log)
	require.Equal(t, want.Error, got.Error)
	if want.Outcome == "rejected" {
		return // how much a client had applied when it gave up depends on how the bytes were cut
	}
	require.JSONEq(t, string(want.Messages), string(got.Messages))
	require.JSONEq(t, string(want.State), string(got.State))
	if want.Result != nil {
		require.JSONEq(t, string(want.Result), string(got.Result))
	}
}

func writeGolden(t *testing.T, r recording, v verdict) {
	t.Helper()
	v.Events, v.Log = nil, nil
	if v.Outcome == "rejected" {
		v.Messages, v.State = nil, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(v))
	require.NoError(t, os.WriteFile(goldenPath(r), out.Bytes(), 0o644))
}

func goldenPath(r recording) string { return "testdata/" + r.name + ".golden.json" }
