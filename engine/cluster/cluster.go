// Package cluster makes a server a node of a cluster. It handles membership, admission, calls
// between nodes, and leadership.
//
// Every node has a replica of every shard. The replicas of a shard form a Raft group (package
// replica). Open opens this node's replicas, connects them to the other nodes (package
// replica/peer), and runs what a cluster needs in addition to Raft:
//
//   - the directory of the members: their addresses for clients, and which of them answer
//     (peers.go);
//   - admission: a node with a new data folder takes part only after the other nodes have removed
//     it as a member (admission.go);
//   - membership changes, made by the leader of each group (members.go), and the check of a node
//     before it is added (newmember.go);
//   - information for operators: which nodes do not answer, and since when (presence.go), the effect
//     of losing the majority (outage.go), the leaders (leaders.go) and membership changes
//     (memberlog.go);
//   - placement: leadership is spread over the nodes, and moves away from nodes whose disk is full
//     or whose clock is wrong (placement.go, space.go, clocks.go);
//   - quotas, which apply to all nodes together (quotas.go).
//
// The server is the cluster's Host: it provides the options of the shards that this node leads, and
// ends when the cluster cannot continue. The package uses nothing else of the server.
//
//	k, err := cluster.Open(cluster.Options{Config: config, DataDir: dir, Shards: shards, Host: host, ...})
//	...
//	k.Serve(calls)  // the gRPC server that answers the other nodes; PeerService is one of its services
//	k.HandOver()    // before the server stops serving
//	err = k.Close() // after the shards are closed
//
// A Cluster is safe for concurrent use. It implements route.Cluster, which the services use to find
// leaders and change members. A change that the cluster refuses is a *route.ChangeError. A call
// that reaches a node without leadership returns a shard.NotLeaderError. Calls after Close return
// errClosed.
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

// These are subfolders of a node's data folder.
const (
	raftFolder      = "raft"      // contains the logs of all groups
	snapshotsFolder = "snapshots" // contains the record of each group's newest snapshot
)

// Host is the server that runs the Cluster. After Open is called, its methods may be called from
// any goroutine.
type Host interface {
	// ShardOptions returns those options of a shard that the server sets: memory, metrics and
	// limits. It is called when this node starts to lead the shard. The cluster sets the options
	// that concern replication.
	ShardOptions(shard int) shard.Options
	// SwapStore calls swap while nothing reads the stores. If the server has closed the stores, it
	// returns shard.ErrClosed.
	SwapStore(swap func() error) error
	// Listeners returns the addresses of this node's client listeners.
	Listeners() Listeners
	// MakeAdminToken creates an operator's token.
	MakeAdminToken(ctx context.Context) error
	// KeepAdminToken handles the secret of a token if it is unknown whether MakeAdminToken created
	// the token. If the registry contains the token, KeepAdminToken keeps the secret. If the
	// registry lacks the token and complete is true, which means that the registry is complete, it
	// removes the secret.
	KeepAdminToken(complete bool) error
	// Fail ends the server because the cluster cannot continue.
	Fail(err error)
}

// Listeners are the addresses of a server's listeners. If the server lacks a listener, the address
// is "".
type Listeners struct{ GRPC, HTTP, Admin string }

// Options configures Open. All fields except Used are required.
type Options struct {
	Config

	Host    Host
	DataDir string
	// Used is true if a member has already used the data folder.
	Used bool
	// Shards are the shards, created by shard.NewClusterGroup. The cluster makes this node start
	// and stop leading them. The server closes them.
	Shards *shard.Group
	// Store contains the options of each replica's store. All stores share one cache of CacheBytes
	// bytes. Logs contains the options of the log, which all groups share.
	Store      storage.Options
	CacheBytes int64
	Logs       logs.Options
	Registry   *access.Registry
	Clock      *clock.Clock
	Version    string // version of the server program
	Log        *slog.Logger
}

// Cluster is this node's part of the cluster: its replicas of the shards and its connections to the
// other nodes.
type Cluster struct {
	route.Changes

	config   Options
	host     Host
	log      *slog.Logger
	shards   *shard.Group
	space    *storage.Space
	registry *access.Registry

	certificates *certificates

	mux  *peer.Mux
	logs *logs.Store
	// cache is shared by all stores. Installed snapshots bring new stores, which use it too.
	cache    *storage.Cache
	replicas []*replica.Replica // one per shard
	// running contains, by shard, the shards that this node leads. The other elements are nil. Only
	// the leadership goroutine of a shard's replica uses the shard's element.
	running  []*shard.Shard
	opened   chan struct{} // closed once replicas is complete or opening has failed
	calls    *grpc.Server
	peers    directory
	updating sync.Mutex // held while the directory copies the members of the groups
	outage   atomic.Pointer[string]
	clocks   *clocks
	identity *identity
	admitted chan struct{} // closed once this node may take part
	quotas   *quotaShares

	systemChanged chan struct{} // contains an element when the registry should be read again
	ledZero       chan struct{} // contains an element when this node has started to lead group 0
	background    sync.WaitGroup
	ctx           context.Context // the context of the background goroutines
	cancel        context.CancelFunc
	closing       atomic.Bool
	// knowsTokens is true once this node has applied all access records that were committed before
	// it started.
	knowsTokens atomic.Bool
}

var _ route.Cluster = (*Cluster)(nil)

// Open opens the replicas. It then starts to take part in the cluster, or asks the other nodes for
// admission. The Raft groups decide which shards this node leads.
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
	k.mux.Calls() // from now on, connections for calls wait until Serve is called
	if err := k.openReplicas(); err != nil {
		return nil, err
	}
	// Write the identity only now, because openReplicas may refuse the data folder.
	if err := k.identity.keep(); err != nil {
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

// firstMembers returns the first members of groups that this node creates. It returns nil if this
// node must ask for membership instead.
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

// Serve starts to answer the other nodes with a gRPC server, and to follow the access records. The
// registry must be loaded before.
func (k *Cluster) Serve(calls *grpc.Server) {
	k.calls = calls
	k.background.Go(k.followRegistry)
	k.background.Go(func() {
		if err := calls.Serve(k.mux.Calls()); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			k.host.Fail(fmt.Errorf("serve the other nodes: %w", err))
		}
	})
}

// Close stops the calls from other nodes and closes the replicas. Call HandOver first, so that
// other nodes can lead immediately.
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

// NotReady returns the reason why this node is not ready to serve clients, or "".
func (k *Cluster) NotReady() string {
	if !k.isAdmitted() {
		if k.identity.get().Wiped {
			return "its data folder is new: the other nodes must remove it before it can join again"
		}
		return "waiting for the other nodes to report whether they know this one"
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

// Addr returns the address that other nodes connect to.
func (k *Cluster) Addr() string { return k.mux.Addr() }

// Replicas returns this node's replicas, indexed by shard.
func (k *Cluster) Replicas() []*replica.Replica { return k.replicas }

// MayLead reports whether this node's clock allows it to lead.
func (k *Cluster) MayLead() bool { return k.clocks.Refused() == nil }

// Skews returns the clock skew of each node that answers, relative to this node's clock.
func (k *Cluster) Skews() map[string]route.ClockSkew {
	skews, _ := k.clocks.skews()
	out := make(map[string]route.ClockSkew, len(skews))
	for id, s := range skews {
		out[id] = route.ClockSkew{Ahead: s.ahead, Error: s.wrong}
	}
	return out
}

// PeersRefused returns the number of connections between nodes that this node has refused.
func (k *Cluster) PeersRefused() uint64 { return k.mux.Counters().Refused }

// LogSyncs returns the number of fsyncs of the log that all groups share.
func (k *Cluster) LogSyncs() uint64 { return k.logs.Counters().Syncs }
