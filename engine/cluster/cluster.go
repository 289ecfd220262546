// Package cluster makes a server one node of a cluster: membership, admission, the calls between nodes, and which node leads.
//
// Every node holds a replica of every shard, and the replicas of a shard are a Raft group (package replica). Open opens this node's
// replicas, connects them to the other nodes (package replica/peer), and runs what a cluster needs beside Raft:
//
//   - the directory: who the members are, where their clients connect, and which of them answer (peers.go);
//   - admission: a node with a new data folder takes part only once the other nodes have removed what it was before (admission.go);
//   - changes of the members, which the leader of each group makes (members.go), and the look at a node before it is added (newmember.go);
//   - what operators read: which nodes are gone and since when (presence.go), what that means without a majority (outage.go), who leads
//     (leaders.go) and how the members change (memberlog.go);
//   - placement: leadership is spread over the nodes, and leaves nodes whose disk is full or whose clock is wrong (placement.go,
//     space.go, clocks.go);
//   - quotas, which hold for all nodes together (quotas.go).
//
// The server is the cluster's Host: it gives the options of the shards that this node leads and ends when the cluster cannot go on.
// The package knows nothing else of the server.
//
//	k, err := cluster.Open(cluster.Options{Config: config, DataDir: dir, Shards: shards, Host: host, ...})
//	...
//	k.Serve(calls)  // the gRPC server that answers the other nodes; PeerService is one of its services
//	k.HandOver()    // before the server stops serving
//	err = k.Close() // after the shards are closed
//
// A Cluster is safe for concurrent use. It implements route.Cluster, by which the services find leaders and change members. A change that
// the cluster refuses is a *route.ChangeError; a call that reaches a node without leadership is a shard.NotLeaderError; calls after Close
// fail with errClosed.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/replica/peer"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Folders of a cluster's node in its data folder.
const (
	raftFolder      = "raft"      // the logs of all groups
	snapshotsFolder = "snapshots" // what is known of each group's snapshots
)

// Host is the server that a Cluster is part of. Its methods are called from any goroutine, from Open on.
type Host interface {
	// ShardOptions returns the server's part of the options of a shard that this node begins to lead: memory, metrics and limits. The
	// cluster sets what belongs to replication.
	ShardOptions(shard int) shard.Options
	// SwapStore calls swap while nothing reads the stores, or returns shard.ErrClosed.
	SwapStore(swap func() error) error
	// Listeners returns where this node's clients connect.
	Listeners() Listeners
	// MakeAdminToken makes an operator's token.
	MakeAdminToken(ctx context.Context) error
	// KeepAdminToken decides about the secret of a token that MakeAdminToken made with an unknown outcome: it keeps the secret if the registry
	// has the token, and removes the secret if the registry lacks the token and is complete.
	KeepAdminToken(complete bool) error
	// Fail ends the server: the cluster cannot go on.
	Fail(err error)
}

// Listeners are the addresses of a server's listeners; "" for a listener that the server does not have.
type Listeners struct{ GRPC, HTTP, Admin string }

// Options are what Open needs. All fields are required, but for Used.
type Options struct {
	Config

	Host    Host
	DataDir string
	// Used says that the data folder was a member's before.
	Used bool
	// Shards are the shards of shard.NewClusterGroup. The cluster leads them and loses them; the server closes them.
	Shards *shard.Group
	// Store has the options of each replica's store; all stores share one cache of CacheBytes. Logs has the options of the log that
	// all groups share.
	Store      storage.Options
	CacheBytes int64
	Logs       logs.Options
	Registry   *access.Registry
	Clock      *clock.Clock
	Version    string // of the program
	Log        *slog.Logger
}

// Cluster is this node's part of the cluster: its replicas of the shards, and its peers.
type Cluster struct {
	route.Changes

	config   Options
	host     Host
	log      *slog.Logger
	shards   *shard.Group
	space    *storage.Space
	registry *access.Registry

	certificates *certificates

	mux      *peer.Mux
	logs     *logs.Store
	cache    *storage.Cache     // of all stores, also of those that replace others
	replicas []*replica.Replica // by shard
	running  []*shard.Shard     // those that this node leads; each belongs to its replica's goroutine
	opened   chan struct{}      // closed when replicas is complete, or never will be
	calls    *grpc.Server
	peers    directory
	updating sync.Mutex // held while the directory takes over the groups' members
	outage   atomic.Pointer[string]
	clocks   *clocks
	identity *identity
	admitted chan struct{} // closed when this node may take part
	quotas   *quotaShares

	systemChanged chan struct{} // has an element when the registry is to be read again
	ledZero       chan struct{} // has an element when this node came to lead group 0
	background    sync.WaitGroup
	ctx           context.Context // of what goes on in the background
	cancel        context.CancelFunc
	closing       atomic.Bool
	knowsTokens   atomic.Bool // this node has applied the registry as it was when it started
}

var _ route.Cluster = (*Cluster)(nil)

// Open opens the replicas and begins to take part, or to ask whether this node may. The groups decide which shards it leads.
func Open(o Options) (_ *Cluster, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	n := o.Shards.Len()
	k := &Cluster{
		config: o, host: o.Host, log: o.Log, shards: o.Shards, space: o.Store.Space, registry: o.Registry,
		running: make([]*shard.Shard, n), replicas: make([]*replica.Replica, n), opened: make(chan struct{}), admitted: make(chan struct{}),
		peers: newDirectory(), quotas: newQuotaShares(), systemChanged: make(chan struct{}, 1), ledZero: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Close())
		}
	}()
	k.clocks = newClocks(k)
	if err := k.listen(); err != nil {
		return nil, err
	}
	if k.logs, err = logs.Open(filepath.Join(o.DataDir, raftFolder), o.Logs); err != nil {
		return nil, err
	}
	if k.identity, err = openIdentity(o.DataDir, o.Used); err != nil {
		return nil, err
	}
	if k.identity.get().Admitted {
		close(k.admitted)
	}
	k.mux.Calls() // from here on their connections wait until Serve
	if err := k.openReplicas(); err != nil {
		return nil, err
	}
	if err := k.identity.keep(); err != nil { // not before: the folder may have been refused
		return nil, err
	}
	k.updateMembers()
	k.background.Go(k.shareQuotas)
	if !k.isAdmitted() {
		k.background.Go(k.admit)
	}
	k.background.Go(k.watchPeers)
	k.background.Go(k.logLeaders)
	k.background.Go(func() { k.clocks.watch(k.ctx) })
	k.background.Go(k.spreadLeadership)
	k.space.BoundWaits(fullWaitMax)
	k.background.Go(k.watchSpaces)
	return k, nil
}

// listen listens for the other nodes.
func (k *Cluster) listen() error {
	c := k.config.Config
	var err error
	if k.certificates, err = loadCertificates(c.CertsDir, c.Node, k.log, time.Now); err != nil {
		return err
	}
	k.mux, err = peer.Listen(peer.Config{
		Node: c.Node, Listen: c.Listen, Advertise: c.Advertise, Peers: c.Peers, Credentials: k.certificates.Get, Log: k.log,
	})
	if err != nil {
		return setting.Path(fmt.Errorf("cluster: %w", err), "choose another address with --cluster-listen", "cluster.listen")
	}
	return nil
}

func (k *Cluster) openReplicas() error {
	defer close(k.opened)
	o := &k.config
	k.cache = storage.NewCache(o.CacheBytes, o.Store.MemTableBytes, len(k.replicas))
	store := o.Store
	store.Cache = k.cache
	servers := k.firstMembers()
	errs := make([]error, len(k.replicas))
	var all sync.WaitGroup
	for i := range k.replicas {
		all.Go(func() {
			k.replicas[i], errs[i] = replica.Open(replica.Options{
				Shard: i, Node: o.Node,
				Dir: storage.ShardFolder(o.DataDir, i), Snapshots: filepath.Join(o.DataDir, snapshotsFolder, fmt.Sprintf("%04d", i)),
				Store: store, Logs: k.logs.Group(uint16(i)), Stream: newAdmittedLayer(k, uint16(i)), Addresses: k.mux,
				Bootstrap: servers, Hold: !k.isAdmitted(), Host: replicaHost{k}, Reluctant: k.yields, Permission: k.clocks, Log: k.log,
				ElectionTimeout: cmp.Or(o.ElectionTimeout, DefaultElectionTimeout), HeartbeatTimeout: o.HeartbeatTimeout, LeaderLease: o.LeaderLease,
				AppendEntriesMax: o.AppendEntriesMax, MessagesInFlight: o.MessagesInFlight,
			})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// firstMembers returns the members of newly created groups. It returns nil if this node has to ask for membership.
func (k *Cluster) firstMembers() []raft.Server {
	c := k.config.Config
	if len(c.Join) > 0 || k.identity.get().Wiped {
		return nil
	}
	if len(c.Peers) == 0 {
		return []raft.Server{{ID: raft.ServerID(c.Node), Address: raft.ServerAddress(k.mux.Addr())}}
	}
	var servers []raft.Server
	for id, address := range c.Peers {
		if id == c.Node {
			address = k.mux.Addr()
		}
		servers = append(servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(address)})
	}
	slices.SortFunc(servers, func(a, b raft.Server) int { return cmp.Compare(a.ID, b.ID) })
	return servers
}

// Serve has a gRPC server answer the other nodes, and begins to follow the access records: the registry is loaded by now.
func (k *Cluster) Serve(calls *grpc.Server) {
	k.calls = calls
	k.background.Go(k.followRegistry)
	k.background.Go(func() {
		if err := calls.Serve(k.mux.Calls()); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			k.host.Fail(fmt.Errorf("serve the other nodes: %w", err))
		}
	})
}

// Close stops the calls of the other nodes and closes the replicas. HandOver goes before it, so that another node leads at once.
func (k *Cluster) Close() error {
	k.cancel()
	if k.calls != nil {
		k.calls.Stop()
	}
	var errs []error
	for _, r := range k.replicas {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	k.background.Wait()
	if k.cache != nil {
		k.cache.Close()
	}
	errs = append(errs, k.peers.close())
	if k.mux != nil {
		errs = append(errs, k.mux.Close())
	}
	if k.logs != nil {
		errs = append(errs, k.logs.Close())
	}
	return errors.Join(errs...)
}

// NotReady returns why this node is not ready to serve clients, or "".
func (k *Cluster) NotReady() string {
	if !k.isAdmitted() {
		if k.identity.get().Wiped {
			return "its data folder is new: the other nodes must remove it before it can join again"
		}
		return "the other nodes are asked whether they know this one"
	}
	if err := k.clocks.Refused(); err != nil {
		return err.Error()
	}
	for i, r := range k.replicas {
		if err := r.Damage(); err != nil {
			return fmt.Sprintf("shard %d: %v", i, err)
		}
		if r.Leader() == "" {
			return cmp.Or(k.Outage(), fmt.Sprintf("no leader of shard %d is known", i))
		}
	}
	return ""
}

// Addr returns where the other nodes connect.
func (k *Cluster) Addr() string { return k.mux.Addr() }

// Replicas returns this node's replicas, by shard.
func (k *Cluster) Replicas() []*replica.Replica { return k.replicas }

// MayLead reports whether this node's clock allows it to lead.
func (k *Cluster) MayLead() bool { return k.clocks.Refused() == nil }

// Skews returns how the clocks of the nodes that answer differ from this node's.
func (k *Cluster) Skews() map[string]route.ClockSkew {
	skews, _ := k.clocks.skews()
	out := make(map[string]route.ClockSkew, len(skews))
	for id, s := range skews {
		out[id] = route.ClockSkew{Ahead: s.ahead, Error: s.wrong}
	}
	return out
}

// PeersRefused returns how many connections between nodes this node refused.
func (k *Cluster) PeersRefused() uint64 { return k.mux.Counters().Refused }

// LogSyncs returns how many fsyncs the log of all groups made.
func (k *Cluster) LogSyncs() uint64 { return k.logs.Counters().Syncs }
