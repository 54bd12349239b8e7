package ingest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/producer"
	"github.com/rejoin/rejoin/subjects"
)

// Handler serves the requests by which a producer writes runs. It is safe for
// concurrent use, and has to be closed.
type Handler struct {
	cfg  Config
	log  *slog.Logger
	runs sessions
	room room // for lines that are large

	wg     sync.WaitGroup
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	once   sync.Once
}

// New makes a handler. From now on runs that nobody calls for are ended, until Close.
func New(cfg Config) *Handler {
	cfg = cfg.withDefaults()
	h := &Handler{cfg: cfg, log: cfg.Logger, room: room{most: max(cfg.MaxLineBytes, int64(cfg.MaxEventBytes)+roomStep)}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.runs.open(cfg, func(held *session, run *producer.Run) { h.wg.Go(func() { h.obey(held, run) }) })
	h.wg.Go(h.sweep)
	return h
}

// Routes mounts the requests on a router.
func (h *Handler) Routes(r chi.Router) {
	r.Post("/runs", h.serve(h.start))
	r.Post("/runs/{run_id}/events", h.serveStream(h.events))
	r.Post("/runs/{run_id}/heartbeat", h.serve(h.heartbeat))
	r.Post("/runs/{run_id}/end", h.serve(h.end))
}

// Close releases the runs held, so that another process may go on with them, and makes
// requests fail with 503, those with an open body at once. It returns when all runs are
// released or ctx is done; a second call does nothing.
func (h *Handler) Close(ctx context.Context) error {
	var err error
	h.once.Do(func() {
		h.cancel()
		h.runs.shut() // before the wait: nothing may join it
		h.wg.Wait()
		err = h.runs.release(ctx)
	})
	return err
}

// leaveTimeout bounds how long the rest of a refused body is waited for: long enough
// for the answer to be read before the connection goes.
const leaveTimeout = time.Second

// streams says whether a request's body may stay open for as long as its run: one of
// unknown length, or longer than what arrives in one go.
func streams(r *http.Request) bool { return r.ContentLength < 0 || r.ContentLength > shortBody }

const shortBody = 1 << 20

// serve adapts a request's function: the error it returns becomes the answer.
func (h *Handler) serve(f problem.Func) http.HandlerFunc {
	return problem.Handlers{Map: answerTo, Log: h.log}.Handler(f)
}

// serveStream is serve for a request whose body may stay open, and may have to be
// answered before it has ended.
func (h *Handler) serveStream(f problem.Func) http.HandlerFunc {
	return h.serve(func(w http.ResponseWriter, r *http.Request) error {
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Time{})
		_ = rc.SetWriteDeadline(time.Time{})
		open := streams(r)
		if open {
			_ = rc.EnableFullDuplex()
		} // else net/http reads the rest by itself
		body := &watchedBody{ReadCloser: r.Body}
		r.Body = body
		err := f(w, r)
		if err != nil && !body.ended {
			_ = rc.SetReadDeadline(time.Now().Add(leaveTimeout))
			if open && r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close")
			}
		}
		if err != nil && (open || errors.Is(err, auth.ErrExpired)) && r.Context().Err() != nil {
			// Reading was interrupted, which net/http takes for the caller having left.
			problem.Write(w, answerTo(err))
		}
		return err
	})
}

// watchedBody knows whether a body was read to its end.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// runID is the run that a request's path names. What no fabric minted names none.
func runID(r *http.Request) (subjects.RunID, error) {
	return subjects.ParseRunID(chi.URLParam(r, "run_id"))
}
