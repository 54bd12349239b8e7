package subjects

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// maxConsumers is what a stream of ours admits. Readers use none; the number is
// for operators' tools, and explicit because a server's own default has changed.
const maxConsumers = 10_000

// RunsConfig is the configuration of one partition's log.
func RunsConfig(partition, replicas int) jetstream.StreamConfig {
	p := strconv.Itoa(partition)
	return jetstream.StreamConfig{
		Name:              RunsStream(partition),
		Description:       "Rejoin: the records of the runs in partition " + p,
		Subjects:          []string{"rejoin.run." + p + ".*"},
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardOld,
		MaxMsgsPerSubject: MaxRecordsPerRun,
		MaxAge:            LogMaxAge,
		MaxConsumers:      maxConsumers,
		AllowDirect:       true,
		RePublish: &jetstream.RePublish{
			Source:      "rejoin.run." + p + ".>",
			Destination: "rejoin.live." + p + ".>",
		},
	}
}

// BucketConfig is the configuration of the stream behind the main bucket:
// pointers, runs' entries and segments. It is an ordinary key-value bucket, so
// operators' tools read it.
//
// Every change in it is republished, for whoever has subscribed to that kind of key.
// Where nobody has, that costs the broker about 3 µs for a small value and 0.3 ms for
// a segment of 256 KiB, some third of storing it; a stream has only one rule, and none
// would leave out the segments alone.
func BucketConfig(replicas int) jetstream.StreamConfig {
	c := bucket(Bucket, replicas)
	c.Description = "Rejoin: pointers, runs and segments"
	c.RePublish = &jetstream.RePublish{Source: bucketPrefix + ">", Destination: changesPrefix + ">"}
	return c
}

// LeaseConfig is the configuration of the stream behind the lease bucket. It is
// kept in files although leases are worth little after a restart: a lone server
// forgets a stream that lives in memory altogether, configuration included.
func LeaseConfig(replicas int) jetstream.StreamConfig {
	c := bucket(LeaseBucket, replicas)
	c.Description = "Rejoin: which producer processes are alive"
	return c
}

func bucket(name string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                   "KV_" + name,
		Subjects:               []string{"$KV." + name + ".>"},
		Storage:                jetstream.FileStorage,
		Replicas:               replicas,
		Retention:              jetstream.LimitsPolicy,
		Discard:                jetstream.DiscardNew,
		MaxMsgsPerSubject:      1,
		MaxConsumers:           maxConsumers,
		AllowRollup:            true,
		DenyDelete:             true,
		AllowDirect:            true,
		AllowMsgTTL:            true,
		SubjectDeleteMarkerTTL: MarkerTTL,
		Duplicates:             2 * time.Minute,
	}
}

// TurnsConfig is the configuration of the work queue. A run has at most one message in
// it, so that putting it there again changes nothing.
func TurnsConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 TurnsStream,
		Description:          "Rejoin: turns that wait for a worker",
		Subjects:             []string{turnPrefix + "*.*"},
		Storage:              jetstream.FileStorage,
		Replicas:             replicas,
		Retention:            jetstream.WorkQueuePolicy,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    1,
		MaxAge:               LogMaxAge,
		MaxConsumers:         maxConsumers,
		AllowDirect:          true,
	}
}

// WorkersConfig is the configuration of the work queue's one consumer.
func WorkersConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       Workers,
		Description:   "Rejoin: turns for workers",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       AckWait,
		MaxDeliver:    -1,
		MaxAckPending: maxClaimed,
	}
}

// maxClaimed is how many turns all workers together may have claimed and not begun.
const maxClaimed = 10_000

// ControlConfig is the configuration of the stream of stops, answers and steering input.
func ControlConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                 ControlStream,
		Description:          "Rejoin: what was sent to the runs' producers",
		Subjects:             []string{controlPrefix + ">"},
		Storage:              jetstream.FileStorage,
		Replicas:             replicas,
		Retention:            jetstream.LimitsPolicy,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    1,
		MaxAge:               LogMaxAge,
		MaxConsumers:         maxConsumers,
		AllowDirect:          true,
		RePublish:            &jetstream.RePublish{Source: controlPrefix + ">", Destination: controlLivePrefix + ">"},
	}
}

// HistoryConfig is the configuration of the stream of saved turns.
func HistoryConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              HistoryStream,
		Description:       "Rejoin: saved turns",
		Subjects:          []string{historyPrefix + "*.*"},
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardOld,
		MaxMsgsPerSubject: MaxHistoryPerChat,
		MaxConsumers:      maxConsumers,
		AllowDirect:       true,
	}
}
