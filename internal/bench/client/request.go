package client

import "strconv"

// Header is one more line of a request's head.
type Header struct{ Name, Value string }

// AppendGet appends a request without a body.
func AppendGet(dst []byte, host, path string, headers ...Header) []byte {
	return append(appendHead(dst, "GET", host, path, headers), "\r\n"...)
}

// AppendPost appends a request with a body.
func AppendPost(dst []byte, host, path string, body []byte, headers ...Header) []byte {
	dst = appendHead(dst, "POST", host, path, headers)
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// AppendStream appends the head of a request whose body follows in chunks; see AppendChunk.
func AppendStream(dst []byte, host, path string, headers ...Header) []byte {
	return append(appendHead(dst, "POST", host, path, headers), "Transfer-Encoding: chunked\r\n\r\n"...)
}

func appendHead(dst []byte, method, host, path string, headers []Header) []byte {
	dst = append(dst, method...)
	dst = append(dst, ' ')
	dst = append(dst, path...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, host...)
	dst = append(dst, "\r\n"...)
	for _, h := range headers {
		dst = append(dst, h.Name...)
		dst = append(dst, ": "...)
		dst = append(dst, h.Value...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// LastChunk ends a body that is streamed.
const LastChunk = "0\r\n\r\n"

// AppendChunkHead appends what stands before the n bytes of a chunk. EndChunk stands
// behind them.
func AppendChunkHead(dst []byte, n int) []byte {
	dst = strconv.AppendInt(dst, int64(n), 16)
	return append(dst, EndChunk...)
}

// EndChunk stands behind the bytes of a chunk.
const EndChunk = "\r\n"
