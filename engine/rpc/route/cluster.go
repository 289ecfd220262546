package route

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
)

// Cluster is the interface through which the services see a node's cluster. It is nil if the node
// is not in a cluster. The methods are safe for concurrent use. Methods without a context answer
// from memory and never block.
type Cluster interface {
	// Self is this node's id.
	Self() string
	// Leader returns the node that leads a shard, as far as this node knows. It returns "" if the
	// leader is unknown or the shard does not exist. The answer may be out of date: a node that
	// does not lead a shard refuses a call with NOT_LEADER.
	Leader(shard int) string
	// Member returns what this node knows of a member, which may be this node. It returns false if
	// the node is not a member.
	Member(node string) (Member, bool)
	// Outage explains why no shard can have a leader: this node gets answers from less than a
	// majority of the voters. The text names the missing voters, the time since when they are
	// missing, and the remedy. It is "" if a majority answers.
	Outage() string
	// Version returns a number that identifies the current answers of Leader and Member, and a
	// channel that is closed when the number may have changed. The number is never 0. It also
	// changes when this node starts or stops serving a shard. Type Changes implements this method.
	Version() (version uint64, changed <-chan struct{})
	// Conn returns a connection to the node-to-node server of another member. That server offers
	// QueueService and AdminService, and requires ordinary access tokens. The cluster owns and
	// closes the connection. An error means that the node is not a member or that the cluster is
	// closing. If the node is unreachable, Conn succeeds and later calls fail.
	Conn(node string) (grpc.ClientConnInterface, error)
	// Status asks all members for their status, each for a bounded time. It reports a member that
	// does not answer as not reachable; this is not an error.
	Status(ctx context.Context) (ClusterStatus, error)
	// Change makes a change at the leader of each affected group, and returns when the change has
	// taken effect in all groups. A change that fails half-way is not undone; repeating it
	// continues with the remaining groups. The error is a *ChangeError if the cluster refuses, a
	// shard.NotLeaderError if a group has no leader in time, or the error of ctx.
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
	// Voter is true if the node has a vote. Other members only replicate.
	Voter bool
	// Reachable is true if the node answered. Only Status sets it.
	Reachable bool
	// LastAnswer is the time of the node's last answer. It is zero if the node has not answered
	// since this node started. Only Status sets it.
	LastAnswer time.Time
	// Version is the version of the node's program; "" before its first report.
	Version string
	// Clock is the difference between the node's clock and this node's clock. It is nil if the node
	// has not reported its time recently. Only Status sets it.
	Clock *ClockSkew
	// ClockProblem is the reason why the node's clock prevents it from leading, or "".
	ClockProblem string
	// Disk is the operation mode that the free space of the node's disk allows. DiskFree is the
	// free space in bytes. Both are unspecified before the node's first report.
	Disk     adminpb.DiskState
	DiskFree uint64
}

// ClockSkew is the difference between the clocks of two nodes.
type ClockSkew struct {
	Ahead time.Duration // first clock minus second clock
	Error time.Duration // maximum error of Ahead
}

// ClusterStatus is the status of a cluster.
type ClusterStatus struct {
	Node    string        // the node that answered
	Members []Member      // by id
	Groups  []GroupStatus // one for each shard, in order
	Outage  string        // the result of Cluster.Outage if a shard has no leader; otherwise ""
}

// GroupStatus is the status of a shard's Raft group. Its indexes are indexes of log entries and
// start at 1; 0 means no entry.
type GroupStatus struct {
	Shard  int
	Leader string // "" if unknown
	// Term, LastIndex and CommitIndex are values of the leader, or of this node if the leader did
	// not answer.
	Term, LastIndex, CommitIndex uint64
	// Replicas describes the copy of each member that answered, in order of the nodes.
	Replicas []ReplicaStatus
}

// ReplicaStatus is the status of one member's copy of a shard.
type ReplicaStatus struct {
	Node string
	// These are indexes of the last entries: LastIndex in the log, AppliedIndex in the applied
	// state, and SnapshotIndex in the newest snapshot.
	LastIndex, AppliedIndex, SnapshotIndex uint64
}

// ClusterChange is a change of the cluster. Kind determines which fields are used. Changes of
// members apply to all groups and ignore Shard.
type ClusterChange struct {
	Kind ChangeKind
	Node string
	// Address is the host:port that other nodes use to reach Node.
	Address string
	// Voter means that an added member gets a vote once it has caught up.
	Voter bool
	// Shard is the shard whose group changes, or AllShards.
	Shard int
	// By is the caller who requested the change. It is used for the log.
	By Caller
}

// Caller identifies the caller of a change. Token is the id of the access token, or "" if
// authentication is off. Address is the remote address of the connection.
type Caller struct{ Token, Address string }

// AllShards is the value of ClusterChange.Shard for the groups of all shards.
const AllShards = -1

// ChangeKind is the kind of a ClusterChange.
type ChangeKind int

// The kinds of a ClusterChange are:
const (
	// AddMember makes Node at Address a member of all groups. The cluster refuses the change if
	// Node does not answer at Address, if it is already a member of all groups, or if it belongs to
	// another cluster. A change that failed half-way may have added Node to some groups; these
	// groups do not change again.
	AddMember ChangeKind = iota + 1
	// RemoveMember removes Node from all groups. Groups that Node leads first get another leader.
	// The cluster refuses the change if Node is not a member.
	RemoveMember
	// PromoteMember gives Node a vote in all groups.
	PromoteMember
	// DemoteMember removes Node's vote in all groups; the node continues to replicate.
	DemoteMember
	// TransferLeadership makes Node the leader of the group of Shard, or of all shards. If Node is
	// "", any other voter may become the leader; with AllShards, this transfers only the groups
	// that the asked node leads.
	TransferLeadership
	// TakeSnapshot makes the asked node take a snapshot of its copy of Shard, and truncate the log.
	// With AllShards, the node does so for all shards.
	TakeSnapshot
)

// String returns the kind in words for logs, such as "add member".
func (k ChangeKind) String() string {
	words := []string{"add member", "remove member", "promote member", "demote member", "transfer leadership", "take snapshot"}
	if k < AddMember || int(k) > len(words) {
		return "unknown change"
	}
	return words[k-AddMember]
}

// ChangeError is the reason why the cluster refused a change. Nothing was changed.
type ChangeError struct {
	// Field is the name in the schema of the change's invalid field: "node", "address" or "shard".
	// It is "" if the state of the cluster prevents the change.
	Field string
	// Problem describes the problem and the remedy. If Field is "", it is a whole sentence;
	// otherwise it completes a sentence that starts with the field's name.
	Problem string
}

// Error returns the field and the problem.
func (e *ChangeError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}
