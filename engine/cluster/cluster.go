// Package cluster makes a server a node of a cluster. It handles membership, admission, calls
// between nodes, and leadership.
//
// Every node has a replica of every shard. The replicas of a shard form a Raft group (package
// replica). Open opens this node's replicas, connects them to the other nodes (package
// replica/peer), and runs what a cluster needs in addition to Raft:
//
//   - peers: the members, their addresses for clients, and which of them answer, with a line in the
//     log when this changes (presence.go), and the effect of losing the majority (outage.go);
//   - admission: a node with a new data folder takes part only after the other nodes have removed
//     it as a member;
//   - membership: changes of the members, made by the leader of each group, and the check of a node
//     before it is added (newmember.go);
//   - balance: leadership is spread over the nodes (placement.go), and moves away from nodes whose
//     disk is full (space.go);
//   - clocks: a node whose clock is wrong does not lead;
//   - accessFollower and quotaShares: tokens, tenants and quotas, which apply to all nodes together.
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
	"sync"
	"time"

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
// other nodes. It assembles the parts that the package comment lists.
type Cluster struct {
	route.Changes
	*groups
	*peers
	*membership
	*balance
	*accessFollower

	config Options
	log    *slog.Logger

	certificates *certificates

	mux  *peer.Mux
	logs *logs.Store
	// cache is shared by all stores. Installed snapshots bring new stores, which use it too.
	cache  *storage.Cache
	opened chan struct{} // closed once the groups' replicas are complete or opening has failed
	calls  *grpc.Server

	admission  *admission
	clocks     *clocks
	quotas     *quotaShares
	background *background
}

var _ route.Cluster = (*Cluster)(nil)

// background is the goroutines that run from Open to Close.
type background struct {
	sync.WaitGroup

	ctx    context.Context // ends when the goroutines must end
	cancel context.CancelFunc
}

func (b *background) start(f func(context.Context)) { b.Go(func() { f(b.ctx) }) }

// Open opens the replicas. It then starts to take part in the cluster, or asks the other nodes for
// admission. The Raft groups decide which shards this node leads.
func Open(o Options) (_ *Cluster, err error) {
	k := &Cluster{config: o, log: o.Log, opened: make(chan struct{}), background: &background{}}
	k.background.ctx, k.background.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Close())
		}
	}()
	if err := k.listen(); err != nil {
		return nil, err
	}
	if k.logs, err = logs.Open(filepath.Join(o.DataDir, raftFolder), o.Logs); err != nil {
		return nil, err
	}
	identity, err := openIdentity(o.DataDir, o.Used)
	if err != nil {
		return nil, err
	}
	k.assemble(identity)
	k.mux.Calls() // from now on, connections for calls wait until Serve is called
	if err := k.openReplicas(); err != nil {
		return nil, err
	}
	// Write the identity only now, because openReplicas may refuse the data folder.
	if err := identity.keep(); err != nil {
		return nil, err
	}
	k.updateMembers()
	k.background.start(k.quotas.share)
	if !k.admission.isAdmitted() {
		k.background.Go(k.admission.run)
	}
	k.background.start(k.watchPeers)
	k.background.start(k.logLeaders)
	k.background.start(k.clocks.watch)
	k.background.start(k.spreadLeadership)
	o.Store.Space.BoundWaits(fullWaitMax)
	k.background.start(k.watchSpaces)
	return k, nil
}

func (k *Cluster) assemble(identity *identity) {
	o := &k.config
	k.groups = &groups{node: o.Node, replicas: make([]*replica.Replica, o.Shards.Len())}
	k.peers = &peers{
		directory: newDirectory(), groups: k.groups, mux: k.mux, changes: &k.Changes, identity: identity, host: o.Host, ownInfo: k.ownInfo, log: k.log, ctx: k.background.ctx,
	}
	k.admission = newAdmission(k, identity)
	k.clocks = newClocks(k)
	k.membership = &membership{groups: k.groups, peers: k.peers, clocks: k.clocks, admission: k.admission, log: k.log}
	k.balance = &balance{groups: k.groups, peers: k.peers, clocks: k.clocks, space: o.Store.Space, log: k.log}
	k.accessFollower = &accessFollower{
		registry: o.Registry, host: o.Host, groups: k.groups, background: k.background, systemChanged: make(chan struct{}, 1), ledZero: make(chan struct{}, 1),
	}
	k.quotas = newQuotaShares(k)
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
	o, n := &k.config, len(k.replicas)
	k.cache = storage.NewCache(o.CacheBytes, o.Store.MemTableBytes, n)
	store := o.Store
	store.Cache = k.cache
	servers := k.admission.firstMembers()
	host := &replicaHost{
		config: o, host: o.Host, groups: k.groups, opened: k.opened, quotas: k.quotas, access: k.accessFollower, changes: &k.Changes, peers: k.peers, running: make([]*shard.Shard, n),
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			k.replicas[i], errs[i] = replica.Open(replica.Options{
				Shard: i, Node: o.Node,
				Dir: storage.ShardFolder(o.DataDir, i), Snapshots: filepath.Join(o.DataDir, snapshotsFolder, fmt.Sprintf("%04d", i)),
				Store: store, Logs: k.logs.Group(uint16(i)), Stream: newAdmittedLayer(k.admission, uint16(i)), Addresses: k.mux,
				Bootstrap: servers, Hold: !k.admission.isAdmitted(), Host: host, Reluctant: k.yields, Permission: k.clocks, Log: k.log,
				ElectionTimeout: cmp.Or(o.ElectionTimeout, DefaultElectionTimeout), HeartbeatTimeout: o.HeartbeatTimeout, LeaderLease: o.LeaderLease,
				AppendEntriesMax: o.AppendEntriesMax, MessagesInFlight: o.MessagesInFlight,
			})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// watchPeers keeps the directory up to date. It also makes the node join the cluster if the
// configuration requires this. If the node is removed while it runs, it does not join again,
// because an operator has removed it.
func (k *Cluster) watchPeers(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var joined, removed bool
	for {
		k.queryPeers(ctx)
		_, member := k.Member(k.node)
		switch {
		case !joined:
			joined = k.admission.join(member)
		case !member && !removed:
			removed = true
			k.log.Warn("this node was removed from the cluster: stop it, or add it again with 'queued cluster add'")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Serve starts to answer the other nodes with a gRPC server, and to follow the access records. The
// registry must be loaded before.
func (k *Cluster) Serve(calls *grpc.Server) {
	k.calls = calls
	k.background.start(k.followRegistry)
	k.background.Go(func() {
		if err := calls.Serve(k.mux.Calls()); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			k.config.Host.Fail(fmt.Errorf("serve the other nodes: %w", err))
		}
	})
}

// Close stops the calls from other nodes and closes the replicas. Call HandOver first, so that
// other nodes can lead immediately.
func (k *Cluster) Close() error {
	k.background.cancel()
	if k.calls != nil {
		k.calls.Stop()
	}
	var errs []error
	if k.groups != nil {
		for _, r := range k.replicas {
			if r != nil {
				errs = append(errs, r.Close())
			}
		}
	}
	k.background.Wait()
	if k.cache != nil {
		k.cache.Close()
	}
	if k.peers != nil {
		errs = append(errs, k.closeConns())
	}
	if k.mux != nil {
		errs = append(errs, k.mux.Close())
	}
	if k.logs != nil {
		errs = append(errs, k.logs.Close())
	}
	return errors.Join(errs...)
}

// Addr returns the address that other nodes connect to.
func (k *Cluster) Addr() string { return k.mux.Addr() }

// PeersRefused returns the number of connections between nodes that this node has refused.
func (k *Cluster) PeersRefused() uint64 { return k.mux.Counters().Refused }

// LogSyncs returns the number of fsyncs of the log that all groups share.
func (k *Cluster) LogSyncs() uint64 { return k.logs.Counters().Syncs }
