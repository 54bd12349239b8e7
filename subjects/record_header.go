package subjects

import "strconv"

// Header is the value of RecordHeader for the record.
func (r *Record) Header() string {
	var room [80]byte
	h := append(room[:0], r.Kind...)
	h = append(h, ' ')
	h = strconv.AppendUint(h, r.Last, 10)
	h = append(h, ' ')
	h = strconv.AppendInt(h, int64(r.Count), 10)
	h = append(h, ' ')
	h = append(h, r.Writer...)
	if r.Kind == KindPart {
		h = append(h, ' ')
		h = strconv.AppendInt(h, int64(r.Part), 10)
		h = append(h, '/')
		h = strconv.AppendInt(h, int64(r.Parts), 10)
	}
	return string(h)
}
