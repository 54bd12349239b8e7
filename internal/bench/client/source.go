package client

// perSource is how many connections one source address has: far fewer than there are
// ports, since those of connections that were closed are not free for a minute.
const perSource = 4096

// Source is the loopback address from which connection i of many dials: 127.0.1.1 and on.
// One that has been used by a storm is followed by the next, so that ports never run out.
func Source(i int) [4]byte {
	n := i / perSource
	return [4]byte{127, 0, byte(1 + n/250%250), byte(1 + n%250)}
}
