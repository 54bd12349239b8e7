package killswitch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rejoin/rejoin/internal/runs"
	"github.com/rejoin/rejoin/subjects"
)

// Errors of this package, besides what keeps the broker from answering.
var (
	// ErrSetting: a setting that is not allowed. Its text says what is.
	ErrSetting = errors.New("not a setting")
	// ErrTooMany: as many tenants are off as may be one by one.
	ErrTooMany = errors.New("too many tenants are switched off one by one; switch off all")
)

// Limits of a setting.
const (
	MaxReason = 256  // bytes of why, and of who
	MaxOff    = 1000 // tenants that are off, wholly or in part
)

// keepOn is how long it is remembered who has turned something on again.
const keepOn = 24 * time.Hour

// Setting is what is off, and who wants that. The zero value is on.
type Setting struct {
	Percent int       `json:"percent"`          // of chats that are off: 0 is on, 100 is off
	Reason  string    `json:"reason,omitempty"` // for people; at most MaxReason bytes
	By      string    `json:"by,omitempty"`     // who has set it; at most MaxReason bytes
	At      time.Time `json:"at,omitzero"`      // when; Set fills it in
}

// Target is whom a setting is for: everybody, or one tenant.
type Target struct {
	All    bool
	Tenant string // "" is a tenant, too: that of relays without authentication
}

// Everybody is the target of all tenants together.
var Everybody = Target{All: true}

// Tenant is the target of one tenant.
func Tenant(name string) Target { return Target{Tenant: name} }

// String is the target as logs and people see it.
func (t Target) String() string {
	if t.All {
		return "all"
	}
	return fmt.Sprintf("tenant %q", t.Tenant)
}

func (t Target) key() (string, error) {
	if t.All {
		return subjects.SwitchAllKey, nil
	}
	return subjects.SwitchKey(t.Tenant)
}

// Named is a setting with whom it is for.
type Named struct {
	Target
	Setting
}

// Check says whether a setting is allowed; the error wraps ErrSetting.
func (s *Setting) Check() error {
	switch {
	case s.Percent < 0 || s.Percent > 100:
		return fmt.Errorf("%w: percent is %d; allowed are 0 (on) to 100 (off)", ErrSetting, s.Percent)
	case len(s.Reason) > MaxReason || !utf8.ValidString(s.Reason):
		return fmt.Errorf("%w: reason has %d bytes; allowed are up to %d bytes of valid UTF-8", ErrSetting, len(s.Reason), MaxReason)
	case len(s.By) > MaxReason || !utf8.ValidString(s.By):
		return fmt.Errorf("%w: by has %d bytes; allowed are up to %d bytes of valid UTF-8", ErrSetting, len(s.By), MaxReason)
	}
	return nil
}

// Set stores a setting in place of the target's own. When it returns, relays that reach
// the broker obey it within a second. The error is ErrSetting, ErrTooMany, or what kept the
// broker from answering; then it may be repeated.
func Set(ctx context.Context, store *runs.Store, target Target, s Setting) error {
	if err := s.Check(); err != nil {
		return err
	}
	key, err := target.key()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	s.At = time.Now().UTC()
	value, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return store.ChangeSwitch(ctx, key, func(old []byte) ([]byte, time.Duration, error) {
		switch {
		case s.Percent == 0:
			return value, keepOn, nil
		case !target.All && parse(old).Percent == 0:
			return value, 0, room(ctx, store)
		}
		return value, 0, nil
	})
}

// room is ErrTooMany where no further tenant may be switched off: all settings are read
// with one question, whose answer is bounded.
func room(ctx context.Context, store *runs.Store) error {
	all, err := List(ctx, store)
	if err != nil {
		return err
	}
	if len(all) >= MaxOff {
		return fmt.Errorf("%w: %d are, or were not long ago", ErrTooMany, len(all))
	}
	return nil
}

// List gives what is set, everybody's first, then by tenant. It has what was turned on
// again within a day, too.
func List(ctx context.Context, store *runs.Store) ([]Named, error) {
	stored, err := store.Switches(ctx)
	if err != nil {
		return nil, err
	}
	var all []Named
	for _, sw := range stored {
		target, err := targetOf(sw.Key)
		if err != nil || sw.Value == nil {
			continue
		}
		all = append(all, Named{target, parse(sw.Value)})
	}
	slices.SortFunc(all, func(a, b Named) int {
		switch {
		case a.All:
			return -1
		case b.All:
			return 1
		}
		return strings.Compare(a.Tenant, b.Tenant)
	})
	return all, nil
}

// One reads a target's own setting at the leader; the zero Setting where it has none. The
// error is ErrSetting, or what kept the broker from answering.
func One(ctx context.Context, store *runs.Store, target Target) (Setting, error) {
	key, err := target.key()
	if err != nil {
		return Setting{}, fmt.Errorf("%w: %w", ErrSetting, err)
	}
	sw, err := store.Switch(ctx, key)
	if err != nil && !errors.Is(err, runs.ErrNotFound) {
		return Setting{}, err
	}
	return parse(sw.Value), nil
}

func targetOf(key string) (Target, error) {
	tenant, all, err := subjects.ParseSwitchKey(key)
	return Target{All: all, Tenant: tenant}, err
}

// parse reads a stored setting. What cannot be read, or was written by hand and is out of
// bounds, turns nothing off: the watcher says so.
func parse(value []byte) Setting {
	var s Setting
	if len(value) == 0 || json.Unmarshal(value, &s) != nil || s.Check() != nil {
		return Setting{}
	}
	return s
}
