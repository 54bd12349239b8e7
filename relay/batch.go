package relay

import (
	"context"
	"strconv"

	"github.com/rejoin/rejoin/consumer"
)

// batch is events that are ready together, encoded once for a whole row as one chunk of a
// chunked answer.
type batch struct {
	buf         []byte // batchHead bytes, then the frames
	first, last uint64
	events      int
	other       consumer.Frame // what came behind them and is not for a row; none where its type is 0
}

// batchHead is room for the size of a chunk.
const batchHead = 8 + len("\r\n")

func (b *batch) reset() {
	if cap(b.buf) > 2*rowBatch {
		b.buf = nil
	}
	if b.buf == nil {
		b.buf = make([]byte, batchHead, keepSize)
	}
	*b = batch{buf: b.buf[:batchHead]}
}

// fill polls until there is enough, or nothing more: then it is idle.
func (b *batch) fill(ctx context.Context, reader source) (idle bool, err error) {
	for len(b.buf) < rowBatch {
		f, ok, err := reader.Poll(ctx)
		if err != nil || !ok {
			return true, err
		}
		if f.Type == consumer.Snapshot { // its bytes are the reader's, until it is asked again
			return false, errNoBatch
		}
		if f.Type != consumer.Event || len(f.Event) > rowEvent {
			b.other = f
			return false, nil
		}
		if b.events == 0 {
			b.first = f.Seq
		}
		b.buf = f.AppendSSE(b.buf)
		b.last = f.Seq
		b.events++
	}
	return false, nil
}

// chunk is the batch as it is written, and how much of that are frames.
func (b *batch) chunk() (chunk []byte, payload int) {
	payload = len(b.buf) - batchHead
	b.buf = append(b.buf, '\r', '\n')
	var digits [batchHead]byte
	size := append(strconv.AppendInt(digits[:0], int64(payload), 16), '\r', '\n')
	from := batchHead - len(size)
	copy(b.buf[from:], size)
	return b.buf[from:], payload
}
