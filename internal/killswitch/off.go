package killswitch

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/rejoin/rejoin/subjects"
)

// Off says whether a chat is among the percentage of chats that are off. It hangs on
// nothing else, so all relays agree, today and after an upgrade, and a chat that is off
// stays so when the percentage grows.
func Off(realm subjects.Realm, chat string, percent int) bool {
	switch {
	case percent <= 0:
		return false
	case percent >= 100:
		return true
	}
	return place(realm, chat) < uint64(percent)
}

// place is a chat's place among a hundred. No realm has a zero byte.
func place(realm subjects.Realm, chat string) uint64 {
	sum := sha256.Sum256([]byte(string(realm) + "\x00" + chat))
	return binary.BigEndian.Uint64(sum[:]) % 100
}
