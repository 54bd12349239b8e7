package bench

import (
	"bytes"
	"strconv"
)

// metric reads a number without labels from a text of Prometheus'; 0 where there is none.
func metric(text []byte, name string) float64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			v, _ := strconv.ParseFloat(string(bytes.TrimSpace(rest)), 64)
			return v
		}
	}
	return 0
}
