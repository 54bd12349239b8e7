package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/problem"
)

func write(t *testing.T, err error) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	problem.Write(w, err)
	return w, body(t, w)
}

func body(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	var got map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body.String())
	return got
}

func TestAnswerHasTheStandardMembersAndTheExtras(t *testing.T) {
	t.Parallel()
	err := problem.New(problem.SeqGap, "event 9 is beyond the next one").With("expected_seq", 7).With("line", 2)
	w, got := write(t, fmt.Errorf("publishing: %w", err))
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, map[string]any{
		"type": "urn:rejoin:problem:seq_gap", "title": "Events are missing before this one", "status": 409.0,
		"detail": "event 9 is beyond the next one", "code": "seq_gap", "expected_seq": 7.0, "line": 2.0,
	}, got)
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{
		problem.BadRequest: 400, problem.UnsupportedProtocol: 400, problem.NotFound: 404,
		problem.MethodNotAllowed: 405, problem.TooLarge: 413, problem.AlreadyStreaming: 409,
		problem.RunEnded: 409, problem.Fenced: 409, problem.SeqGap: 409, problem.Unavailable: 503,
		problem.NotBegun: 409, problem.StaleRun: 409, problem.AlreadyAnswered: 409,
		problem.TooManyRequests: 429, problem.Internal: 500, "made_up": 500, "": 500,
	} {
		w, got := write(t, problem.New(code, "x"))
		require.Equal(t, status, w.Code, code)
		require.NotEmpty(t, got["title"], code)
	}
	w, got := write(t, &problem.Error{Status: http.StatusConflict, Code: "made_up"})
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "Conflict", got["title"])
}

// What went wrong inside is for the log: it may name files, hosts or users.
func TestUnknownErrorsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		errors.New("dial 10.1.2.3: refused"),
		problem.New(problem.Unavailable, "try again").Because(errors.New("dial 10.1.2.3: refused")),
	} {
		w, _ := write(t, err)
		require.NotContains(t, w.Body.String(), "10.1.2.3")
		require.Contains(t, problem.For(err).Error(), "10.1.2.3", "the log must have it")
	}
	w, got := write(t, errors.New("secret"))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal", got["code"])
	w, got = write(t, nil)
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "internal", got["code"])
}

func TestWhatIsShownIsBoundedAndHarmless(t *testing.T) {
	t.Parallel()
	evil := "a\x00b\x1b[31m\r\nc\u202ed\u2028e\xff"
	_, got := write(t, problem.New(problem.NotFound, "%s", evil).With("run_id", evil))
	for _, member := range []string{"detail", "run_id"} {
		require.Equal(t, "a�b�[31m��c�d�e�", got[member])
	}

	_, got = write(t, problem.New(problem.NotFound, "%s", "x"+strings.Repeat("é", 1000)))
	detail := got["detail"].(string)
	require.LessOrEqual(t, len(detail), 520)
	require.True(t, strings.HasSuffix(detail, "é…"), "cut between characters: %q", detail)
}

func TestADetailWithoutArgumentsIsNoFormat(t *testing.T) {
	t.Parallel()
	_, got := write(t, problem.New(problem.BadRequest, "100%d"))
	require.Equal(t, "100%d", got["detail"])
}

func TestExtrasCannotReplaceStandardMembersOrBreakTheAnswer(t *testing.T) {
	t.Parallel()
	_, got := write(t, problem.New(problem.NotFound, "d").With("status", 200).With("code", "fine"))
	require.InDelta(t, 404, got["status"], 0)
	require.Equal(t, "not_found", got["code"])

	_, got = write(t, problem.New(problem.NotFound, "d").With("f", func() {}))
	require.Equal(t, "not_found", got["code"])
}

func TestRetryAfterIsWholeSecondsRoundedUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "", time.Millisecond: "1", time.Second: "1", 1500 * time.Millisecond: "2"} {
		w, _ := write(t, problem.New(problem.Unavailable, "x").After(d))
		require.Equal(t, want, w.Header().Get("Retry-After"), d)
	}
}

func TestHeadersOfThePlannedAnswerDoNotSurvive(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "5")
	w.Header().Set("ETag", `"x"`)
	w.Header().Set("Allow", "GET")
	problem.Write(w, problem.New(problem.MethodNotAllowed, "x"))
	require.Empty(t, w.Header().Get("Content-Length"))
	require.Empty(t, w.Header().Get("ETag"))
	require.Equal(t, "GET", w.Header().Get("Allow"), "says what is allowed instead")
}

// Sentinels are shared by all requests: deriving an answer must not change them.
func TestDerivingLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	base := problem.New(problem.Fenced, "d").With("a", 1)
	_ = base.With("b", 2).After(time.Second).Because(errors.New("c"))
	_, got := write(t, base)
	require.NotContains(t, got, "b")
	require.Zero(t, base.RetryAfter)
	require.NoError(t, base.Err)
}
