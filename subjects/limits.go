package subjects

import "time"

// Retention and sizes. They stand here and nowhere else.
const (
	// MaxRecordsPerRun is the replay window: the newest records a run's log
	// keeps. Older events are in segments.
	MaxRecordsPerRun = 4096

	// GapThreshold is how many events behind the head an observer may be and
	// still get them one by one; past it a snapshot is cheaper.
	GapThreshold = 4096

	// LogMaxAge removes a log that no janitor evicted: a backstop.
	LogMaxAge = 24 * time.Hour

	// Partitions is how many RUNS streams a new fabric gets. One stream
	// saturates near 15,000 records a second, four carry 1,000 runs at 20
	// events a second with about 1 ms p50.
	Partitions = 4

	// Retention is how long an ended run can still be replayed.
	Retention = 5 * time.Minute

	// MaxEndedPerOwner is how many ended runs an owner may keep retained.
	MaxEndedPerOwner = 64

	// Lease is how long a producer process may be silent before it is taken for dead.
	Lease = 15 * time.Second

	// MarkerTTL is how long the marker of a deleted key stays. A watcher only
	// needs to see it once.
	MarkerTTL = time.Minute

	// TurnTTL is how long a turn whose time has come may wait for a worker.
	TurnTTL = 5 * time.Minute

	// AckWait is how long a claimed turn may take to begin before another worker is
	// given it.
	AckWait = 10 * time.Second

	// MaxQueuedTurns is how many turns may wait behind a chat's active run.
	MaxQueuedTurns = 32

	// MaxHistoryPerChat is how many messages of saved turns a chat keeps; a turn
	// that is larger than one message takes several.
	MaxHistoryPerChat = 1000

	// MaxMemory is how many bytes an agent may keep of a chat between its turns, and
	// MemoryTTL for how long after it last did.
	MaxMemory = 16 << 10
	MemoryTTL = 30 * 24 * time.Hour

	// MaxEventBytes is the largest event accepted unless configured.
	MaxEventBytes = 16 << 20

	// MaxRecordBytes and MaxRecordEvents bound what a group commit packs into
	// one record. Throughput is flat from 64 events on, and an observer's
	// check of a quiet run reads one whole record.
	MaxRecordBytes  = 64 << 10
	MaxRecordEvents = 256

	// SegmentEvents and SegmentBytes are where a checkpoint is due.
	SegmentEvents = 512
	SegmentBytes  = 256 << 10

	// HeaderRoom is what a message's header may take of the broker's payload
	// limit, which counts headers too.
	HeaderRoom = 1 << 10

	// MaxSeq is the largest seq: the largest integer a JavaScript client holds exactly.
	MaxSeq = 1<<53 - 1
)
