package route

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
)

// Cluster is the cluster that a server is a node of, as the services see it. A server that stands alone has none: nil.
// Its methods are safe for concurrent use. Those without a context answer from memory and never block.
type Cluster interface {
	// Self is this node's id.
	Self() string
	// Leader returns the node that leads a shard as far as this node knows; "" if no leader is known, and for a shard
	// that there is not. The answer may be late: a node that is asked and does not lead answers NOT_LEADER.
	Leader(shard int) string
	// Member returns what is known of a node, also of this one; false if it is not a member.
	Member(node string) (Member, bool)
	// Conn returns a connection to the node-to-node server of another member, which serves QueueService and
	// AdminService with the ordinary access tokens. It belongs to the cluster: nobody else closes it. An error means that
	// the node is not a member or that the cluster closes; an unreachable node is what calls find out.
	Conn(node string) (grpc.ClientConnInterface, error)
	// Status asks all members how they are, each for a bounded time. A member that does not answer is one that is not
	// reachable, not an error.
	Status(ctx context.Context) (ClusterStatus, error)
	// Change carries a change out at the leader of each group that it concerns, and returns when all of them have it.
	// It is not taken back when it fails on the way: asked again, it goes on with the groups that do not have it. Errors
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
	// Voter tells that it has a vote; others only copy.
	Voter bool
	// Reachable tells that it answered. Only Status finds that out.
	Reachable bool
	// Version is its program's; "" when the node has not said yet.
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

// ClusterStatus is how a cluster is.
type ClusterStatus struct {
	Node    string        // that was asked
	Members []Member      // by id
	Groups  []GroupStatus // one for each shard, in their order
}

// GroupStatus is how the Raft group of a shard is. Indexes are those of log entries, from 1; 0 means none.
type GroupStatus struct {
	Shard  int
	Leader string // "" when none is known
	// Term, LastIndex and CommitIndex are the leader's, or this node's where the leader did not answer.
	Term, LastIndex, CommitIndex uint64
	// Replicas are the copies of the members that answered, by node.
	Replicas []ReplicaStatus
}

// ReplicaStatus is how one member's copy of a shard is.
type ReplicaStatus struct {
	Node string
	// LastIndex is the last entry in its log, AppliedIndex the last one in its state, SnapshotIndex the last one in its
	// newest snapshot.
	LastIndex, AppliedIndex, SnapshotIndex uint64
}

// ClusterChange is a change of the cluster. Which fields count, its kind says; Shard counts as AllShards does with
// kinds that change members, which are those of all groups.
type ClusterChange struct {
	Kind ChangeKind
	Node string
	// Address is where the other nodes reach Node, host:port.
	Address string
	// Voter gives the vote to a member that is added, as soon as it has caught up.
	Voter bool
	// Shard is the shard whose group changes, or AllShards.
	Shard int
}

// AllShards as ClusterChange.Shard means the groups of all shards.
const AllShards = -1

// ChangeKind is what a ClusterChange does.
type ChangeKind int

// The kinds of changes.
const (
	// AddMember makes Node at Address a member of all groups. What is there already and the same stays.
	AddMember ChangeKind = iota + 1
	// RemoveMember takes Node out of all groups. Groups that it leads get another leader first. One that is no member
	// is refused.
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
