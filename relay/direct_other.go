//go:build !unix

package relay

// canTry says that net/http is the only way here.
const canTry = false

func (d *direct) once(uintptr) bool { return true }
