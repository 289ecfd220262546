package replica

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage"
)

// Host is the node that runs a replica.
type Host interface {
	// Lead starts the shard. The store contains the decisions of all earlier tenures. The shard
	// proposes its decisions to log. Any error ends the node, except loss of leadership.
	Lead(shard int, store *storage.Store, log storage.Log, tenure storage.Tenure) error
	// Lose stops the shard and returns once the shard no longer reads the store. The replica calls
	// it after each call of Lead.
	Lose(shard int)
	// LeaderChanged is called when the group's known leader changes or becomes unknown. It must not
	// block.
	LeaderChanged(shard int)
	// SystemChanged is called when the shard's store may contain changed records of the node
	// itself.
	SystemChanged(shard int)
	// Failed is called when the replica stops because of an error.
	Failed(shard int, err error)
	// Swap must call swap while the node does not read the store. The replica has called Lose
	// before, so the shard is stopped.
	Swap(swap func() error) error
}

// Logs is the log and the stable store of one Raft group.
type Logs interface {
	raft.LogStore
	raft.StableStore
	// Persist returns once everything stored before the call would survive a power loss.
	Persist() error
}

// Options configure a replica. For durations and sizes, 0 means the default.
type Options struct {
	Shard int
	Node  string // this node's ID
	// Dir is the folder of the shard's store; Snapshots is the folder of the snapshot record. Open
	// creates both if missing.
	Dir, Snapshots string
	Store          storage.Options
	Logs           Logs
	Stream         raft.StreamLayer
	Addresses      raft.ServerAddressProvider // nil: use the addresses in the Raft configuration
	// Bootstrap lists the first members of a new group. It is empty for a node that joins an
	// existing group.
	Bootstrap []raft.Server
	// Hold is true if a new group is not created until Bootstrap is called.
	Hold bool
	Host Host
	// Reluctant, if not nil, reports whether this node should let other nodes win elections. It
	// must not block.
	Reluctant func() bool
	// Permission decides whether this node may lead. If it is nil, this node always may.
	Permission Permission
	Log        *slog.Logger

	// ElectionTimeout is the time that a candidate waits for votes. The default is 500 ms.
	ElectionTimeout time.Duration
	// HeartbeatTimeout is the time that a follower waits for a message from the leader before it
	// stands for election. The interval of the leader's heartbeats is a tenth to a fifth of it. The
	// default is ElectionTimeout, which is also the maximum.
	HeartbeatTimeout time.Duration
	// LeaderLease is the time for which a leader that cannot reach a majority continues to lead.
	// The default is half of ElectionTimeout, or HeartbeatTimeout if that is shorter. The maximum
	// is HeartbeatTimeout.
	LeaderLease time.Duration
	// AppendEntriesMax limits the number of entries in one message to a follower and in one write
	// to the log. The default is DefaultAppendEntriesMax.
	AppendEntriesMax int
	// MessagesInFlight limits the number of concurrent messages to one follower. The default is
	// DefaultMessagesInFlight.
	MessagesInFlight int
	// SnapshotBytes is the size of applied entries in bytes after which the replica truncates its
	// log. The default is 32 MiB.
	SnapshotBytes uint64
	// TrailingBytes is the approximate size in bytes of the entries that remain in the log for slow
	// followers. The default is 48 MiB. A follower that needs older entries receives the whole
	// store.
	TrailingBytes uint64
}

const (
	defaultElectionTimeout = 500 * time.Millisecond
	defaultSnapshotBytes   = 32 << 20
	// A node that is killed and restarted immediately misses about 2 s of entries. It must find
	// them in the log of any leader, because copying the store occupies two nodes for seconds. With
	// defaultSnapshotBytes, the whole log is smaller than one memtable of package logs, so little
	// of the log is written twice.
	defaultTrailingBytes = 48 << 20
	// These limit the number of trailing entries.
	trailingEntriesMin, trailingEntriesMax = 10, 100_000

	// DefaultAppendEntriesMax is the default of Options.AppendEntriesMax.
	DefaultAppendEntriesMax = 128
	// DefaultMessagesInFlight is the default of Options.MessagesInFlight.
	DefaultMessagesInFlight = 4
	// logCacheEntries is the number of recent entries cached in memory for followers that keep up.
	logCacheEntries = 512
	transportPool   = 3
	transportMax    = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.ElectionTimeout == 0 {
		o.ElectionTimeout = defaultElectionTimeout
	}
	o.HeartbeatTimeout = cmp.Or(o.HeartbeatTimeout, o.ElectionTimeout)
	o.LeaderLease = cmp.Or(o.LeaderLease, min(o.ElectionTimeout/2, o.HeartbeatTimeout))
	o.AppendEntriesMax = cmp.Or(o.AppendEntriesMax, DefaultAppendEntriesMax)
	o.MessagesInFlight = cmp.Or(o.MessagesInFlight, DefaultMessagesInFlight)
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = defaultSnapshotBytes
	}
	if o.TrailingBytes == 0 {
		o.TrailingBytes = defaultTrailingBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("shard", o.Shard)
	o.Store.Replicated, o.Store.Log = true, o.Log
	return o
}
