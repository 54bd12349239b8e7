package subjects

import (
	"fmt"
	"strings"
)

// switchAll is the token of the switch that is for everybody. No tenant's token has
// its sign.
const switchAll = "=all"

// SwitchAllKey is the key of the switch that is for everybody.
const SwitchAllKey = "switch." + switchAll

// SwitchKey is the key of a tenant's own switch. The error is Token's.
func SwitchKey(tenant string) (string, error) {
	t, err := Token(tenant)
	if err != nil {
		return "", fmt.Errorf("tenant: %w", err)
	}
	return "switch." + t, nil
}

// ParseSwitchKey is the inverse of both: everybody's key, or a tenant's. The error is
// ErrToken or ErrTooLong.
func ParseSwitchKey(key string) (tenant string, all bool, err error) {
	token, ok := strings.CutPrefix(key, "switch.")
	switch {
	case !ok:
		return "", false, ErrToken
	case token == switchAll:
		return "", true, nil
	}
	tenant, err = ParseToken(token)
	return tenant, false, err
}

// SwitchKeysSubject matches every switch.
const SwitchKeysSubject = bucketPrefix + "switch.*"

// KeyOfSubject is the key of the main bucket that a subject stands for, one of the
// bucket's own or one of its changes; false for any other subject.
func KeyOfSubject(subject string) (key string, ok bool) {
	if key, ok = strings.CutPrefix(subject, bucketPrefix); ok {
		return key, true
	}
	return strings.CutPrefix(subject, changesPrefix)
}
