package auth

import "strings"

// Role is what somebody may do at all; whose runs it may be done to is the realm's
// matter.
type Role string

// The roles there are.
const (
	Observer Role = "observer" // watches and steers the chats that are the caller's own
	Producer Role = "producer" // makes runs, for any user of the caller's tenant
	Admin    Role = "admin"    // operates the fabric
)

// allRoles gives each role its bit in Roles.
var allRoles = [...]Role{Observer, Producer, Admin}

// Roles is a set of roles. The zero value is empty.
type Roles uint8

// NewRoles makes a set. Unknown roles are left out.
func NewRoles(roles ...Role) Roles {
	var set Roles
	for _, r := range roles {
		set |= bit(r)
	}
	return set
}

// Has says whether the set has the role. It has no unknown ones.
func (s Roles) Has(r Role) bool { return s&bit(r) != 0 }

// String is the roles' names with commas between them.
func (s Roles) String() string {
	var names []string
	for _, r := range allRoles {
		if s.Has(r) {
			names = append(names, string(r))
		}
	}
	return strings.Join(names, ",")
}

func bit(r Role) Roles {
	for i, known := range allRoles {
		if r == known {
			return 1 << i
		}
	}
	return 0
}
