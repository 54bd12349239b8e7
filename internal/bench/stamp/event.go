package stamp

import "strconv"

// MinSize is the size of the smallest event that has room for every stamp.
const MinSize = 112

// message is the one message that all events of a run add to.
const message = "m"

const (
	before = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + message + `","delta":"`
	after  = `"}`
	pad    = "the quick brown fox jumps over the lazy dog and goes on "
)

// fill is what pads deltas: text of which no piece looks like a stamp.
var fill = func() (b []byte) {
	for len(b) < 4096 {
		b = append(b, pad...)
	}
	return b
}()

// Open is the event that begins the message. It has to be a run's first.
func Open() []byte {
	return []byte(`{"type":"TEXT_MESSAGE_START","messageId":"` + message + `","role":"assistant"}`)
}

// Append appends event number n, from 1, of exactly size bytes, without a line break. due
// is when it was meant to be sent, in microseconds since 1970. A size below MinSize is
// taken for MinSize.
func Append(dst []byte, n uint64, due int64, size int) []byte {
	end := len(dst) + max(size, MinSize)
	dst = append(dst, before...)
	dst = append(dst, mark)
	dst = strconv.AppendUint(dst, n, 10)
	dst = append(dst, point)
	dst = strconv.AppendInt(dst, max(due, 0), 10)
	dst = append(dst, mark)
	for room := end - len(after) - len(dst); room > 0; room = end - len(after) - len(dst) {
		dst = append(dst, fill[:min(room, len(fill))]...)
	}
	return append(dst, after...)
}
