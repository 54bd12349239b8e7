package stats

import "time"

// Schedule says when an open loop sends: Streams streams in turn, each every Every, so
// that their sends are spread evenly. Send k, from 0, is that of stream k mod Streams.
type Schedule struct {
	Start   time.Time     // when send 0 is due
	Every   time.Duration // between two sends of one stream
	Streams int           // at least 1
	Phase   time.Duration // added to all, so that several schedules do not meet
}

// Due is when send k is due.
func (s Schedule) Due(k uint64) time.Time {
	streams := uint64(max(s.Streams, 1))
	round, place := k/streams, k%streams
	return s.Start.Add(s.Phase + time.Duration(round)*s.Every + s.Every*time.Duration(place)/time.Duration(streams))
}

// Stream is whose send k is.
func (s Schedule) Stream(k uint64) int { return int(k % uint64(max(s.Streams, 1))) }

// Passed is how many sends are due at now: those with numbers below it.
func (s Schedule) Passed(now time.Time) uint64 {
	since := now.Sub(s.Start.Add(s.Phase))
	if since < 0 || s.Every <= 0 {
		return 0
	}
	k := uint64(since/s.Every) * uint64(max(s.Streams, 1))
	for !s.Due(k).After(now) {
		k++ // at most Streams times
	}
	return k
}
