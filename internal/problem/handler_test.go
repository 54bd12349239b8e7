package problem_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/problem"
)

var errGone = errors.New("no such thing in the store")

func serve(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/p", nil))
	return w
}

func TestHandlerAnswersWithTheReturnedError(t *testing.T) {
	t.Parallel()
	w := serve(problem.Handler(func(http.ResponseWriter, *http.Request) error {
		return problem.New(problem.Fenced, "d")
	}))
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "fenced", body(t, w)["code"])

	w = serve(problem.Handler(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
	require.Equal(t, http.StatusNoContent, w.Code)
}

func TestMapTurnsSentinelsIntoAnswers(t *testing.T) {
	t.Parallel()
	h := problem.Handlers{Map: func(err error) error {
		if errors.Is(err, errGone) {
			return problem.New(problem.NotFound, "there is no such run").Because(err)
		}
		return err
	}}
	w := serve(h.Handler(func(http.ResponseWriter, *http.Request) error { return errGone }))
	require.Equal(t, http.StatusNotFound, w.Code)
	require.NotContains(t, w.Body.String(), errGone.Error())
}

// Half an answer followed by a problem would be neither.
func TestAnErrorAfterTheAnswerBeganIsLoggedOnly(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(http.ResponseWriter){
		"status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"body":   func(w http.ResponseWriter) { _, _ = w.Write(nil) },
		"flush":  func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
		"flusher": func(w http.ResponseWriter) {
			f, ok := w.(http.Flusher)
			if ok {
				f.Flush()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h := problem.Handlers{Log: slog.New(slog.NewTextHandler(&log, nil))}
			w := serve(h.Handler(func(w http.ResponseWriter, _ *http.Request) error {
				begin(w)
				return errors.New("broke off")
			}))
			require.Equal(t, http.StatusOK, w.Code)
			require.Empty(t, w.Body.String())
			require.Contains(t, log.String(), "broke off")
		})
	}
}

func TestAnInformationalAnswerIsNotTheAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(problem.Handler(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusEarlyHints)
		return problem.New(problem.NotFound, "d")
	}))
	defer server.Close()
	res, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusNotFound, res.StatusCode)
}

// Faults of ours are errors in the log; a client's mistakes are not, or anyone
// could fill it with them.
func TestOnlyOurFaultsAreLoggedAsErrors(t *testing.T) {
	t.Parallel()
	logged := func(err error) string {
		var log bytes.Buffer
		h := problem.Handlers{Log: slog.New(slog.NewTextHandler(&log, nil))}
		serve(h.Handler(func(http.ResponseWriter, *http.Request) error { return err }))
		return log.String()
	}
	require.Contains(t, logged(errGone), "level=ERROR")
	require.Contains(t, logged(problem.New(problem.Internal, "x").Because(errGone)), errGone.Error())
	require.Empty(t, logged(problem.New(problem.BadRequest, "x")))
}

func TestAClientThatLeftGetsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		problem.Handler(func(http.ResponseWriter, *http.Request) error { return ctx.Err() }).
			ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	})
	require.Empty(t, w.Body.String())
}

// A caller that closes its own side looks like one that has left. It is never told 200
// for what did not happen: what is known to be wrong is said, anything else breaks off.
func TestAClientThatOnlyClosedItsSideIsNotToldThatAllIsWell(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(problem.Handler(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := io.ReadAll(r.Body)
		<-r.Context().Done()
		if r.URL.Path == "/known" {
			return problem.New(problem.BadRequest, "the body broke off").Because(err)
		}
		return r.Context().Err()
	}))
	defer server.Close()
	for path, want := range map[string]string{"/known": "HTTP/1.1 400 ", "/": ""} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		got, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Equal(t, want, string(got[:min(len(got), len(want))]), path)
		require.Equal(t, want == "", len(got) == 0, path)
	}
}

// A stream's handler sets deadlines through the adapter.
func TestResponseControllerReachesTheConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(problem.Handler(func(w http.ResponseWriter, _ *http.Request) error {
		return http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour))
	}))
	defer server.Close()
	res, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
}
