package subjects

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ErrRunID is returned by ParseRunID for a string that no fabric minted.
var ErrRunID = errors.New("not a run id")

// RunID names one run: "<partition>-<26 characters>", for example
// "2-06h2o87uktqv7cnk6qvir1g5e8". The part behind the dash is a version 7 UUID
// in base 32, so ids of one partition sort by the time they were minted. An id
// carries its partition, so that adding partitions later moves no run. It is
// safe as a subject token, as a key token and in an SSE id line.
type RunID string

// MaxPartitions bounds the partition number a run id may carry.
const MaxPartitions = 256

// idEncoding keeps the order of the bytes it encodes, unlike the usual base 32.
var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

const idLength = 26

// NewRunID mints an id in the given partition. Ids are unique across processes
// and, within one process, strictly increasing per partition. It panics when the
// partition is out of range or the system has no randomness left to give.
func NewRunID(partition int) RunID {
	if partition < 0 || partition >= MaxPartitions {
		panic(fmt.Sprintf("subjects: partition %d is not in 0 … %d", partition, MaxPartitions-1))
	}
	id := uuid.Must(uuid.NewV7())
	return RunID(strconv.Itoa(partition) + "-" + idEncoding.EncodeToString(id[:]))
}

// ParseRunID checks that s has the form NewRunID gives. The error wraps ErrRunID.
func ParseRunID(s string) (RunID, error) {
	p, rest, ok := strings.Cut(s, "-")
	n, err := strconv.Atoi(p)
	switch {
	case !ok || err != nil || n < 0 || n >= MaxPartitions || strconv.Itoa(n) != p:
		return "", fmt.Errorf("%w: want <partition>-<%d characters 0-9 a-v>", ErrRunID, idLength)
	case len(rest) != idLength:
		return "", fmt.Errorf("%w: %d characters behind the partition, want %d", ErrRunID, len(rest), idLength)
	}
	raw, err := idEncoding.DecodeString(rest)
	if err != nil || idEncoding.EncodeToString(raw) != rest {
		return "", fmt.Errorf("%w: only the characters 0-9 and a-v are allowed", ErrRunID)
	}
	return RunID(s), nil
}

// Partition is the partition that holds the run, -1 for an id that ParseRunID refuses.
func (id RunID) Partition() int {
	p, _, _ := strings.Cut(string(id), "-")
	n, err := strconv.Atoi(p)
	if err != nil || n < 0 || n >= MaxPartitions {
		return -1
	}
	return n
}

// String returns the id as it stands on the wire.
func (id RunID) String() string { return string(id) }
