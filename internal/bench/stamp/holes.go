package stamp

import "slices"

// maxHoles bounds what is remembered of gaps. An event that fills one that was forgotten
// counts as doubled; it stays missing.
const maxHoles = 256

// hole is a range of numbers that are missing: from ≤ n < to.
type hole struct{ from, to uint64 }

// holes are ranges that do not touch, in order.
type holes []hole

// fill takes n out; false says that it was not missing.
func (h *holes) fill(n uint64) bool {
	i, found := slices.BinarySearchFunc(*h, n, func(g hole, n uint64) int {
		switch {
		case g.to <= n:
			return -1
		case g.from > n:
			return 1
		}
		return 0
	})
	if !found {
		return false
	}
	g := (*h)[i]
	switch {
	case g.from == n && g.to == n+1:
		*h = slices.Delete(*h, i, i+1)
	case g.from == n:
		(*h)[i].from++
	case g.to == n+1:
		(*h)[i].to--
	default:
		(*h)[i].to = n
		*h = slices.Insert(*h, i+1, hole{n + 1, g.to})
	}
	return true
}
