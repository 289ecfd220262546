package route

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
)

// Cluster is a node's cluster as the services see it; nil without a cluster. The methods are safe
// for concurrent use. Methods without a context answer from memory and never block.
type Cluster interface {
	// Self is this node's id.
	Self() string
	// Leader returns the node that leads a shard as far as this node knows; "" if the leader is
	// unknown or the shard does not exist. The answer may be out of date: a node that does not lead
	// refuses a call with NOT_LEADER.
	Leader(shard int) string
	// Member returns what this node knows of a member, which may be this node; false if the node is
	// not a member.
	Member(node string) (Member, bool)
	// Outage returns why no shard can have a leader: fewer than a majority of the voters answer
	// this node. The text names the missing voters, the time since when they are missing, and the
	// remedy. It is "" if a majority answers.
	Outage() string
	// Version returns the version of the answers of Leader and Member, never 0, and a channel that
	// is closed when it may have changed. It also changes when this node begins or ceases to serve
	// a shard. Changes implements it.
	Version() (version uint64, changed <-chan struct{})
	// Conn returns a connection to the node-to-node server of another member, which serves
	// QueueService and AdminService with the ordinary access tokens. The cluster owns and closes
	// it. An error means that the node is not a member or that the cluster is closing; calls to an
	// unreachable node fail later.
	Conn(node string) (grpc.ClientConnInterface, error)
	// Status asks all members for their status, each for a bounded time. A member that does not
	// answer is reported as not reachable, which is not an error.
	Status(ctx context.Context) (ClusterStatus, error)
	// Change makes a change at the leader of each affected group, and returns when all groups have
	// it. A change that fails half-way is not undone: repeating it continues with the remaining
	// groups. Errors are *ChangeError if the cluster refuses, shard.NotLeaderError if a group has
	// no leader in time, and those of ctx.
	Change(ctx context.Context, c ClusterChange) error
}

// Member is a node of the cluster.
type Member struct {
	Node string
	// PeerAddress is the address for the other nodes, host:port.
	PeerAddress string
	// Address, HTTP and Admin are the addresses for clients: gRPC, REST, administration. They are
	// "" if the node has no such listener or has not reported yet.
	Address, HTTP, Admin string
	// Voter means that the node has a vote; other members only replicate.
	Voter bool
	// Reachable means that the node answered. Only Status sets it.
	Reachable bool
	// LastAnswer is when the node last answered; zero if it has not answered since this node
	// started. Only Status sets it.
	LastAnswer time.Time
	// Version is the version of the node's program; "" before its first report.
	Version string
	// Clock is the difference of the node's clock from this node's; nil if it has not reported its
	// time recently. Only Status sets it.
	Clock *ClockSkew
	// ClockProblem is why the node's clock prevents it from leading; "" if it does not.
	ClockProblem string
	// Disk is what the free space of the node's disk allows, and DiskFree that space in bytes. Both
	// are unspecified before the node's first report.
	Disk     adminpb.DiskState
	DiskFree uint64
}

// ClockSkew is the difference of one node's clock from another's.
type ClockSkew struct {
	Ahead time.Duration // negative: behind
	Error time.Duration // the bound on the error of Ahead
}

// ClusterStatus is the status of a cluster.
type ClusterStatus struct {
	Node    string        // the node that answers
	Members []Member      // by id
	Groups  []GroupStatus // one for each shard, in order
	Outage  string        // Cluster.Outage, if a shard has no leader
}

// GroupStatus is the status of a shard's Raft group. Indexes are those of log entries, from 1; 0
// means none.
type GroupStatus struct {
	Shard  int
	Leader string // "" if unknown
	// Term, LastIndex and CommitIndex are the leader's, or this node's if the leader did not
	// answer.
	Term, LastIndex, CommitIndex uint64
	// Replicas are the copies of the members that answered, by node.
	Replicas []ReplicaStatus
}

// ReplicaStatus is the status of one member's copy of a shard.
type ReplicaStatus struct {
	Node string
	// LastIndex is the last entry in the log, AppliedIndex the last one applied to the state,
	// SnapshotIndex the last one in the newest snapshot.
	LastIndex, AppliedIndex, SnapshotIndex uint64
}

// ClusterChange is a change of the cluster. Kind determines which fields are used. Changes of
// members apply to all groups, whatever Shard is.
type ClusterChange struct {
	Kind ChangeKind
	Node string
	// Address is Node's address for the other nodes, host:port.
	Address string
	// Voter gives an added member the vote once it has caught up.
	Voter bool
	// Shard is the shard whose group changes, or AllShards.
	Shard int
	// By is the caller who requested the change, for the log.
	By Caller
}

// Caller identifies the caller of a change: the id of the access token, "" if authentication is
// off, and the address of the connection.
type Caller struct{ Token, Address string }

// AllShards as ClusterChange.Shard means the groups of all shards.
const AllShards = -1

// ChangeKind is the kind of a ClusterChange.
type ChangeKind int

// The kinds of changes.
const (
	// AddMember makes Node at Address a member of all groups. The change is refused unless that
	// node answers there, and if it is a member of all groups or of another cluster. Groups that
	// already have the member, from a change that failed half-way, do not change.
	AddMember ChangeKind = iota + 1
	// RemoveMember removes Node from all groups. Groups that Node leads get another leader first.
	// The change is refused if Node is not a member.
	RemoveMember
	// PromoteMember gives Node a vote in all groups.
	PromoteMember
	// DemoteMember removes Node's vote in all groups; the node continues to replicate.
	DemoteMember
	// TransferLeadership makes Node lead the group of Shard, or of all shards. Node "" means any
	// other voter; with AllShards, only the groups that the asked node leads are then transferred.
	TransferLeadership
	// TakeSnapshot makes the asked node snapshot its own copy of Shard, or of all shards, and
	// truncate their logs.
	TakeSnapshot
)

// String returns the kind in words for logs: "add member".
func (k ChangeKind) String() string {
	words := []string{"add member", "remove member", "promote member", "demote member", "transfer leadership", "take snapshot"}
	if k < AddMember || int(k) > len(words) {
		return "unknown change"
	}
	return words[k-AddMember]
}

// ChangeError is the reason why a cluster refuses a change. Nothing was changed.
type ChangeError struct {
	// Field is the invalid field of the change by its name in the schema: "node", "address",
	// "shard". It is "" if the state of the cluster, and not a field, prevents the change.
	Field string
	// Problem completes a sentence that begins with the field, or is a whole sentence if Field is
	// "". It includes the remedy.
	Problem string
}

// Error returns the field and the problem.
func (e *ChangeError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}
