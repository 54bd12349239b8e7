package subjects

import (
	"fmt"
	"strconv"
	"strings"
)

// The buckets and the streams behind them.
const (
	Bucket            = "rejoin"
	BucketStream      = "KV_" + Bucket
	LeaseBucket       = "rejoin_leases"
	LeaseBucketStream = "KV_" + LeaseBucket

	bucketPrefix  = "$KV." + Bucket + "."
	changesPrefix = "rejoin.kv."
	leasePrefix   = "$KV." + LeaseBucket + "."
)

// RunsStream is the stream that logs the runs of one partition.
func RunsStream(partition int) string { return "RUNS_" + strconv.Itoa(partition) }

// RunSubject is where a run's records are published and kept.
func RunSubject(id RunID) string {
	return "rejoin.run." + strconv.Itoa(id.Partition()) + "." + string(id)
}

// LiveSubject is where the broker republishes a run's records once stored.
func LiveSubject(id RunID) string {
	return "rejoin.live." + strconv.Itoa(id.Partition()) + "." + string(id)
}

// RunOfSubject is the inverse of RunSubject; the error wraps ErrRunID.
func RunOfSubject(subject string) (RunID, error) {
	i := strings.LastIndexByte(subject, '.')
	return ParseRunID(subject[i+1:])
}

// PointerKey is the key of a chat's pointer. The error is Token's, or ParseRealm's for what
// is no realm.
func PointerKey(realm Realm, chat string) (string, error) {
	if _, err := ParseRealm(string(realm)); err != nil {
		return "", fmt.Errorf("realm: %w", err)
	}
	c, err := Token(chat)
	if err != nil {
		return "", fmt.Errorf("chat_id: %w", err)
	}
	return "chat." + realm.token() + "." + c, nil
}

// RunKey is the key of a run's entry.
func RunKey(id RunID) string { return "run." + string(id) }

// CanaryKey is the key of what a process stores to know whether the broker stores.
func CanaryKey(process string) string { return "canary." + process }

// SegmentKey is the key of a run's nth segment, counted from 0.
func SegmentKey(id RunID, n int) string {
	return "seg." + string(id) + "." + strconv.Itoa(n)
}

// SegmentPartKey is the key of the ith further part (from 1) of a segment that is
// larger than one message. It carries the writer, so that two writers of the same
// segment never mix their parts.
func SegmentPartKey(id RunID, n int, writer string, i int) string {
	return SegmentKey(id, n) + "." + writer + "." + strconv.Itoa(i)
}

// KeySubject is the subject under which the bucket keeps a key.
func KeySubject(key string) string { return bucketPrefix + key }

// RunKeysSubject matches every run's entry, and nothing else.
const RunKeysSubject = bucketPrefix + "run.*"

// PointerKeysSubject matches every pointer.
const PointerKeysSubject = bucketPrefix + "chat.*.*"

// SegmentKeysSubject matches the segments of all runs.
const SegmentKeysSubject = bucketPrefix + "seg.>"

// SegmentsSubject matches the segments of one run and their parts.
func SegmentsSubject(id RunID) string { return bucketPrefix + "seg." + string(id) + ".>" }

// RunOfSegmentSubject gives the run whose segment or part a subject names; the
// error wraps ErrRunID.
func RunOfSegmentSubject(subject string) (RunID, error) {
	rest, ok := strings.CutPrefix(subject, bucketPrefix+"seg.")
	id, _, dot := strings.Cut(rest, ".")
	if !ok || !dot {
		return "", ErrRunID
	}
	return ParseRunID(id)
}

// PointerSubject is where the broker republishes changes of a pointer, so that
// whoever waits for a chat's next run subscribes to that one chat.
func PointerSubject(pointerKey string) string { return changesPrefix + pointerKey }

// Where the broker republishes the changes of every run's entry, of every pointer and
// of every switch.
const (
	RunChangesSubject     = changesPrefix + "run.*"
	PointerChangesSubject = changesPrefix + "chat.*.*"
	SwitchChangesSubject  = changesPrefix + "switch.*"
)

// LeaseSubject is the subject of a producer's lease.
func LeaseSubject(producer string) string { return leasePrefix + producer }

// LeaseKeysSubject matches every lease.
const LeaseKeysSubject = leasePrefix + "*"

// ProducerOfLease is the inverse of LeaseSubject.
func ProducerOfLease(subject string) string { return strings.TrimPrefix(subject, leasePrefix) }
