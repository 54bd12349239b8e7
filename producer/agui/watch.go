package agui

import (
	"context"
	"io"
	"time"
)

// watch gives up on a request when nothing comes for a while. Time counts only while
// something is waited for, not while events wait to be published.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	after  time.Duration
	until  time.Time // the end of everything; zero for none
}

func newWatch(ctx context.Context, after time.Duration) (context.Context, *watch) {
	w := &watch{}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.limit(after)
	w.timer = time.AfterFunc(after, func() { w.cancel(ErrIdle) })
	return w.ctx, w
}

// limit gives up once nothing has come for so long.
func (w *watch) limit(after time.Duration) { w.after, w.until = after, time.Time{} }

// linger gives up after so long, whatever comes.
func (w *watch) linger(d time.Duration) { w.after, w.until = d, time.Now().Add(d) }

func (w *watch) start() {
	after := w.after
	if !w.until.IsZero() {
		after = min(after, max(time.Until(w.until), 0))
	}
	w.timer.Reset(after)
}

func (w *watch) stop() { w.timer.Stop() }

func (w *watch) close() {
	w.stop()
	w.cancel(nil)
}

// because returns why the request was given up, or err if it was not.
func (w *watch) because(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return err
}

// reader is r, watched.
func (w *watch) reader(r io.Reader) io.Reader { return &watched{w, r} }

type watched struct {
	w *watch
	r io.Reader
}

func (r *watched) Read(p []byte) (int, error) {
	r.w.start()
	defer r.w.stop()
	return r.r.Read(p)
}
