package client

// Body is a body that is streamed. It gathers what is written and sends it as one chunk
// when there is enough, or when Flush says so.
type Body struct {
	c    *Conn
	a    answer
	held []byte
	out  []byte
}

// bodyChunk is how much is gathered.
const bodyChunk = 64 << 10

// Stream begins a request with a body of unknown length. The Conn is the body's until
// Close.
func (c *Conn) Stream(path string, headers ...Header) (*Body, error) {
	b := &Body{c: c}
	c.dec.expect(&b.a)
	c.out = AppendStream(c.out[:0], c.host, path, headers...)
	return b, c.write(c.out)
}

// Write adds to the body.
func (b *Body) Write(p []byte) (int, error) {
	b.held = append(b.held, p...)
	if len(b.held) < bodyChunk {
		return len(p), nil
	}
	return len(p), b.Flush()
}

// Flush sends what has gathered.
func (b *Body) Flush() error {
	if len(b.held) == 0 {
		return nil
	}
	b.out = AppendChunkHead(b.out[:0], len(b.held))
	b.out = append(b.out, b.held...)
	b.out = append(b.out, EndChunk...)
	b.held = b.held[:0]
	return b.c.write(b.out)
}

// Close ends the body and waits for the answer, valid until the next call on the Conn.
func (b *Body) Close() (status int, answer []byte, err error) {
	if err := b.Flush(); err != nil {
		return 0, nil, err
	}
	if err := b.c.write([]byte(LastChunk)); err != nil {
		return 0, nil, err
	}
	return b.c.wait(&b.a)
}
