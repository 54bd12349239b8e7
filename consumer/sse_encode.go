package consumer

import (
	"strconv"
	"time"
)

// AppendSSE appends the frame as one SSE message, "id: <run>:<seq>" and one data
// line, with the blank line that completes it. It allocates nothing but what dst
// has to grow.
func (f *Frame) AppendSSE(dst []byte) []byte {
	dst = append(dst, "id: "...)
	dst = appendField(dst, string(f.RunID))
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, f.Seq, 10)
	dst = append(dst, "\ndata: "...)
	dst = f.AppendJSON(dst)
	return append(dst, "\n\n"...)
}

// AppendComment appends a comment with the blank line after it: the keep-alive.
// Clients do not see it, proxies and time-outs do. An empty text is fine.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ':')
	if text != "" {
		dst = append(dst, ' ')
		dst = appendField(dst, text)
	}
	return append(dst, "\n\n"...)
}

// AppendRetry appends the time after which a client should come back, in whole
// milliseconds; a negative d counts as 0.
func AppendRetry(dst []byte, d time.Duration) []byte {
	dst = append(dst, "retry: "...)
	dst = strconv.AppendInt(dst, max(0, d.Milliseconds()), 10)
	return append(dst, "\n\n"...)
}

// appendField appends s without the characters that end a line or void an id.
func appendField(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c != '\r' && c != '\n' && c != 0 {
			dst = append(dst, c)
		}
	}
	return dst
}
