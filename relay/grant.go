package relay

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/rejoin/rejoin/consumer"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/runs"
)

// resumeParameter is how EventSource, which can send no header, brings its resume token.
const resumeParameter = "resume_token"

// credential finds the token of a request. Only where a resume token may be used is one
// looked for in the query, and only of a GET; anywhere else the parameter means nothing.
// Two credentials are none.
func credential(r *http.Request, a access) (token string, resume bool, err error) {
	if token, err = bearer(r); err != nil || a != watcher {
		return token, false, err
	}
	if r.Method == http.MethodGet {
		query, _ := url.ParseQuery(r.URL.RawQuery) // the handler says what is wrong with it
		switch values := query[resumeParameter]; {
		case len(values) > 1, len(values) == 1 && r.Header.Get("Authorization") != "":
			return "", false, auth.ErrInvalid
		case len(values) == 1:
			return values[0], true, nil
		}
	}
	return token, auth.IsResume(token), nil
}

// authenticate finds out who makes a request.
func (s *Server) authenticate(r *http.Request, a access) (*auth.Identity, error) {
	if s.cfg.Auth == nil { // whatever else a request brings is for somebody before the relay
		return identity(r.Context()), nil
	}
	token, resume, err := credential(r, a)
	switch {
	case err != nil:
		return nil, err
	case resume && s.cfg.Resume == nil:
		return nil, auth.ErrInvalid
	case resume:
		return s.cfg.Resume.Verify(token)
	}
	return s.cfg.Auth.Authenticate(r.Context(), token)
}

// granted gives the run that a resume token is for, if that is what the request asks for:
// this run of this chat, whether or not the request names it. Any other is as one that is
// gone, ErrIdle, and so is this one once it is gone: the chat's newer runs are not the
// token's to show.
func (s *Server) granted(ctx context.Context, g *auth.Grant, q *watch) (*runs.Entry, error) {
	if q.run == "" {
		q.run = g.RunID
	}
	if q.chat != g.ChatID || q.run != g.RunID {
		return nil, consumer.ErrIdle
	}
	e, err := s.entryOf(ctx, g.RunID)
	switch {
	case errors.Is(err, runs.ErrNotFound):
		return nil, consumer.ErrIdle
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case e.Realm != q.realm || e.ChatID != q.chat:
		return nil, consumer.ErrIdle
	}
	return e, nil
}
