package route

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
)

// Cluster is the cluster of a node, as the services see it; nil for a server that is in no cluster. The methods are safe for concurrent
// use. Those without a context answer from memory and never block.
type Cluster interface {
	// Self is this node's id.
	Self() string
	// Leader returns the node that leads a shard as far as this node knows; "" if no leader is known or the shard does not exist. The
	// answer may be out of date: a node that does not lead refuses a call with NOT_LEADER.
	Leader(shard int) string
	// Member returns what this node knows of a member, also of itself; false if the node is not a member.
	Member(node string) (Member, bool)
	// Outage returns why no shard can have a leader: fewer than a majority of the voters answer this node. The text names those that are
	// missing, since when, and the remedy. It is "" if a majority answers.
	Outage() string
	// Version returns the version of what Leader and Member answer, never 0, and a channel that is closed when that may have changed. It
	// also changes when this node begins or ceases to serve a shard. Changes implements it.
	Version() (version uint64, changed <-chan struct{})
	// Conn returns a connection to the node-to-node server of another member, which serves QueueService and
	// AdminService with the ordinary access tokens. The cluster owns and closes it. An error means
	// that the node is not a member or that the cluster closes; for an unreachable node the calls fail.
	Conn(node string) (grpc.ClientConnInterface, error)
	// Status asks all members for their status, each for a bounded time. A member that does not answer is not reachable; that is no
	// error.
	Status(ctx context.Context) (ClusterStatus, error)
	// Change makes a change at the leader of each group that it concerns, and returns when all groups have it. A change that fails half-way
	// is not undone: the same change again goes on with the groups that do not have it. Errors
	// are *ChangeError where the cluster refuses, shard.NotLeaderError where a group has no leader in time, and ctx's.
	Change(ctx context.Context, c ClusterChange) error
}

// Member is a node of the cluster.
type Member struct {
	Node string
	// PeerAddress is where the other nodes reach it, host:port.
	PeerAddress string
	// Address, HTTP and Admin are where clients connect: gRPC, REST, administration. "" where there is no such listener,
	// or the node has not said yet.
	Address, HTTP, Admin string
	// Voter says that the node has a vote; others only copy.
	Voter bool
	// Reachable says that the node answered. Only Status sets it.
	Reachable bool
	// LastAnswer is when the node last answered; zero if it has not since this node started. Only Status sets it.
	LastAnswer time.Time
	// Version is the program's; "" before the node's first report.
	Version string
	// Clock is the difference of its clock from this node's; nil if the node has not reported its time recently. Only Status sets
	// it.
	Clock *ClockSkew
	// ClockProblem is why its clock does not allow it to lead; "" if it may lead.
	ClockProblem string
	// Disk is what the free space of its disk allows, and DiskFree that space in bytes. Both are unspecified before the node's
	// first report.
	Disk     adminpb.DiskState
	DiskFree uint64
}

// ClockSkew is how one node's clock differs from another's.
type ClockSkew struct {
	Ahead time.Duration // negative: behind
	Error time.Duration // the bound on the error of Ahead
}

// ClusterStatus is the status of a cluster.
type ClusterStatus struct {
	Node    string        // that answers
	Members []Member      // by id
	Groups  []GroupStatus // one for each shard, in their order
	Outage  string        // as Cluster.Outage, if a shard has no leader
}

// GroupStatus is the status of a shard's Raft group. Indexes are those of log entries, from 1; 0 means none.
type GroupStatus struct {
	Shard  int
	Leader string // "" when none is known
	// Term, LastIndex and CommitIndex are the leader's, or this node's where the leader did not answer.
	Term, LastIndex, CommitIndex uint64
	// Replicas are the copies of the members that answered, by node.
	Replicas []ReplicaStatus
}

// ReplicaStatus is the status of one member's copy of a shard.
type ReplicaStatus struct {
	Node string
	// LastIndex is the last entry in its log, AppliedIndex the last one in its state, SnapshotIndex the last one in its
	// newest snapshot.
	LastIndex, AppliedIndex, SnapshotIndex uint64
}

// ClusterChange is a change of the cluster. Kind determines which fields are used. A kind that changes members changes them
// in all groups, whatever Shard is.
type ClusterChange struct {
	Kind ChangeKind
	Node string
	// Address is where the other nodes reach Node, host:port.
	Address string
	// Voter gives the vote to a member that is added, as soon as it has caught up.
	Voter bool
	// Shard is the shard whose group changes, or AllShards.
	Shard int
	// By is who asked for the change, for the log.
	By Caller
}

// Caller is who asked for a change: the id of the access token, "" if authentication is off, and the address of the connection.
type Caller struct{ Token, Address string }

// AllShards as ClusterChange.Shard means the groups of all shards.
const AllShards = -1

// ChangeKind is the kind of a ClusterChange.
type ChangeKind int

// The kinds of changes.
const (
	// AddMember makes Node at Address a member of all groups. The change is refused unless that node answers there, and if it is a member
	// of all groups or of another cluster. Groups that have the member from a change that failed half-way do not change.
	AddMember ChangeKind = iota + 1
	// RemoveMember removes Node from all groups. Groups that Node leads get another leader first. If Node is no member, the change is
	// refused.
	RemoveMember
	// PromoteMember gives Node a vote in all groups.
	PromoteMember
	// DemoteMember takes Node's vote in all groups; it goes on copying.
	DemoteMember
	// TransferLeadership has Node lead the group of Shard, or of all shards. Node "" means any other voter, and then with
	// AllShards only the groups that the node that is asked leads are transferred.
	TransferLeadership
	// TakeSnapshot has the node that is asked snapshot its own copy of Shard, or of all shards, and cut their logs.
	TakeSnapshot
)

// String returns the kind in words, as for a log: "add member".
func (k ChangeKind) String() string {
	words := []string{"add member", "remove member", "promote member", "demote member", "transfer leadership", "take snapshot"}
	if k < AddMember || int(k) > len(words) {
		return "unknown change"
	}
	return words[k-AddMember]
}

// ChangeError says why a cluster refuses a change. Nothing was changed.
type ChangeError struct {
	// Field is the field of the change that is at fault, as the schema names it: "node", "address", "shard". It is ""
	// when none is, and the cluster is not as it would have to be.
	Field string
	// Problem completes a sentence that begins with the field, or stands alone without one. It says what to do.
	Problem string
}

// Error returns the field and the problem.
func (e *ChangeError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}
