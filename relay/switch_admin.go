package relay

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/problem"
)

// switchTimeout bounds what is asked of the broker for an admin.
const switchTimeout = 5 * time.Second

// switchView is a setting as an admin sees it.
type switchView struct {
	All     bool       `json:"all,omitempty"`
	Tenant  *string    `json:"tenant,omitempty"`
	Percent int        `json:"percent"` // of chats that are off
	Reason  string     `json:"reason"`
	By      string     `json:"by"`
	At      *time.Time `json:"at"` // null where it was never set
}

func viewOfSwitch(target killswitch.Target, s killswitch.Setting) switchView {
	v := switchView{All: target.All, Percent: s.Percent, Reason: s.Reason, By: s.By}
	if !target.All {
		v.Tenant = &target.Tenant
	}
	if !s.At.IsZero() {
		v.At = &s.At
	}
	return v
}

// getSwitch serves GET /admin/switch: what an admin may set, and what is in force for it.
func (s *Server) getSwitch(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), switchTimeout)
	defer cancel()
	id := identity(r.Context())
	views := []switchView{}
	if allowsAll(id) {
		all, err := killswitch.List(ctx, s.cfg.Store)
		if err != nil {
			return s.switchFailure(r, err)
		}
		for _, one := range all {
			views = append(views, viewOfSwitch(one.Target, one.Setting))
		}
	} else {
		target := killswitch.Tenant(id.Tenant)
		own, err := killswitch.One(ctx, s.cfg.Store, target)
		if err != nil {
			return s.switchFailure(r, err)
		}
		views = append(views, viewOfSwitch(target, own))
	}
	return writeJSON(w, map[string]any{"switches": views, "percent": s.cfg.Switch.Percent(id.Tenant)})
}

// putSwitch serves PUT /admin/switch.
func (s *Server) putSwitch(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Tenant  *string     `json:"tenant"`
		Percent problem.Int `json:"percent"`
		Reason  string      `json:"reason"`
	}
	if err := decode(w, r, maxBody, &in); err != nil {
		return err
	}
	if !in.Percent.Set {
		return problem.New(problem.BadRequest, "percent is missing; it is the percentage of chats that may not be watched: 0 turns on, 100 turns off")
	}
	if err := in.Percent.Check("percent", 0, 100); err != nil {
		return err
	}
	id := identity(r.Context())
	target, err := switchTarget(id, in.Tenant)
	if err != nil {
		return err
	}
	by := "admin API"
	if !id.Anonymous() {
		by = id.Owner
	}
	ctx, cancel := context.WithTimeout(s.base, switchTimeout)
	defer cancel()
	err = killswitch.Set(ctx, s.cfg.Store, target, killswitch.Setting{Percent: int(in.Percent.N), Reason: in.Reason, By: by})
	if err != nil {
		return s.switchFailure(r, err)
	}
	set, err := killswitch.One(ctx, s.cfg.Store, target)
	if err != nil {
		return s.switchFailure(r, err)
	}
	return writeJSON(w, viewOfSwitch(target, set))
}

// allowsAll says whether an admin may switch everybody: where there is one tenant, which
// has no name, everybody is its own.
func allowsAll(id *auth.Identity) bool { return id.Tenant == "" }

// switchTarget is whom a request is for: without a tenant, as many as its admin may
// switch. A tenant that is not the admin's is refused whether it exists or not.
func switchTarget(id *auth.Identity, tenant *string) (killswitch.Target, error) {
	switch {
	case tenant == nil && allowsAll(id):
		return killswitch.Everybody, nil
	case tenant == nil:
		return killswitch.Tenant(id.Tenant), nil
	case *tenant != id.Tenant && !id.Anonymous():
		return killswitch.Target{}, problem.New(problem.Forbidden, "tenant is not the one of the credential; an admin switches its own")
	}
	return killswitch.Tenant(*tenant), nil
}

func (s *Server) switchFailure(r *http.Request, err error) error {
	switch {
	case errors.Is(err, killswitch.ErrSetting):
		return problem.New(problem.BadRequest, "%s", strings.TrimPrefix(err.Error(), killswitch.ErrSetting.Error()+": "))
	case errors.Is(err, killswitch.ErrTooMany):
		return problem.New(problem.TooManyRequests, "%s", err.Error()).After(maxSwitchRetry)
	case s.base.Err() != nil:
		return errDraining
	case r.Context().Err() != nil:
		return context.Cause(r.Context())
	}
	return brokerFailure(err)
}
