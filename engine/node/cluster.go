package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/replica/peer"
	"github.com/pronybench/prony/engine/rpc"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Folders of a cluster's node in its data folder.
const (
	raftFolder      = "raft"      // the logs of all groups
	snapshotsFolder = "snapshots" // what is known of each group's snapshots
)

// cluster is what a node of a cluster has beside the others' parts: its replicas of the shards, and its peers.
type cluster struct {
	node     *Node
	config   Config
	mux      *peer.Mux
	logs     *logs.Store
	cache    *storage.Cache     // of all stores, also of those that take others' places
	replicas []*replica.Replica // by shard
	running  []*shard.Shard     // those that this node leads; each is its replica's goroutine's
	opened   chan struct{}      // closed when replicas is complete, or never will be
	calls    *grpc.Server
	peers    directory
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

var _ replica.Host = (*cluster)(nil)

// openCluster opens the replicas and begins to take part, or to ask whether it may. The shards are led as the groups decide.
// used says that the data folder was a member's.
func (n *Node) openCluster(c Config, used bool) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &cluster{
		node: n, config: c, running: make([]*shard.Shard, c.Shards), opened: make(chan struct{}), admitted: make(chan struct{}), peers: newDirectory(),
		quotas:        newQuotaShares(),
		systemChanged: make(chan struct{}, 1), ledZero: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	k.clocks = newClocks(k)
	if n.shards, err = shard.NewClusterGroup(c.Shards, n.clock.NowMs, c.Log); err != nil {
		return err
	}
	if k.mux, err = n.listenPeers(c); err != nil {
		return err
	}
	k.logs, err = logs.Open(filepath.Join(c.DataDir, raftFolder), logs.Options{
		Durability: c.Durability, SyncInterval: c.SyncInterval, FS: c.fs, Log: c.Log, Space: n.space, MemTableBytes: uint64(n.shares.LogMemTableBytes),
		Appended: n.metrics.RaftAppended,
	})
	if err != nil {
		return err
	}
	if k.identity, err = openIdentity(c.DataDir, used); err != nil {
		return err
	}
	if k.identity.get().Admitted {
		close(k.admitted)
	}
	k.mux.Calls() // from here on their connections wait until they are served
	if err := k.openReplicas(); err != nil {
		return err
	}
	if err := k.identity.keep(); err != nil { // not before: the folder may have been refused
		return err
	}
	n.cluster = k
	k.knowMembers()
	k.background.Go(k.shareQuotas)
	if !k.isAdmitted() {
		k.background.Go(k.admit)
	}
	k.background.Go(k.followRegistry)
	k.background.Go(k.watchPeers)
	k.background.Go(func() { k.clocks.watch(k.ctx) })
	k.background.Go(k.spreadLeads)
	n.space.BoundWaits(fullWaitMax)
	k.background.Go(k.watchSpaces)
	return nil
}

// listenPeers listens for the other nodes.
func (n *Node) listenPeers(c Config) (*peer.Mux, error) {
	credentials, err := loadClusterCertificates(c.Cluster.CertsDir, c.Cluster.Node, c.Log, time.Now)
	if err != nil {
		return nil, err
	}
	m, err := peer.Listen(peer.Config{
		Node: c.Cluster.Node, Listen: c.Cluster.Listen, Advertise: c.Cluster.Advertise, Peers: c.Cluster.Peers, Credentials: credentials.Get, Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return m, nil
}

func (k *cluster) openReplicas() error {
	defer close(k.opened)
	c := k.config
	k.cache = storage.NewCache(k.node.shares.BlockCacheBytes)
	servers := k.firstMembers()
	k.replicas = make([]*replica.Replica, c.Shards)
	errs := make([]error, c.Shards)
	var all sync.WaitGroup
	for i := range c.Shards {
		all.Go(func() {
			k.replicas[i], errs[i] = replica.Open(replica.Options{
				Shard: i, Node: c.Cluster.Node,
				Dir: storage.ShardFolder(c.DataDir, i), Snapshots: filepath.Join(c.DataDir, snapshotsFolder, fmt.Sprintf("%04d", i)),
				Store: storage.Options{
					Durability: c.Durability, FS: c.fs, Cache: k.cache, Space: k.node.space, MemTableBytes: uint64(k.node.shares.MemTableBytes), OpenTablesMax: k.node.files.stores,
				},
				Logs: k.logs.Group(uint16(i)), Stream: newAdmittedLayer(k, uint16(i)), Addresses: k.mux,
				Bootstrap: servers, Hold: !k.isAdmitted(), Host: k, Reluctant: k.leavesToOthers, Permission: k.clocks, Log: c.Log,
				ElectionTimeout: cmp.Or(c.Cluster.ElectionTimeout, DefaultElectionTimeout),
			})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// firstMembers are the members of groups that begin: none where this node asks for membership.
func (k *cluster) firstMembers() []raft.Server {
	c := k.config.Cluster
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

// Lead implements replica.Host.
func (k *cluster) Lead(i int, store *storage.Store, log storage.Log, tenure storage.Tenure) error {
	<-k.opened
	n := k.node
	config := shareOf(k.config.Queue, k.config.Shards)
	config.Counting = func(counts bool) { k.quotas.counting(i, counts) }
	s, err := shard.New(store, shard.Options{
		Queue: config, Log: k.config.Log.With("shard", i), Space: n.space, NowMs: n.shards.NowMs,
		Observe: n.metrics.Commits(i), Turned: n.metrics.Turns(i), Stages: n.metrics.Stages(i),
		InboxBytesMax: inboxBytes(n.shares, k.config.Shards),
		Number:        i, Replicate: log, Tenure: tenure, LeaseGraceMs: clock.LeaseGrace(k.config.Cluster.ClockSkewMax).Milliseconds(), Alone: k.config.Cluster.Alone,
		Failed: func(err error) {
			if errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) {
				k.replicas[i].Restart()
				return
			}
			k.Failed(i, err)
		},
	})
	if err != nil {
		return err
	}
	if err := n.shards.Lead(i, s); err != nil {
		s.Lose()
		return err
	}
	k.running[i] = s
	if i == 0 {
		k.quotas.coordinate(access.NewCoordinator(tenure.Term, k.config.Shards, k.quotas.nowMs()))
		signal(k.ledZero)
	}
	return nil
}

// Lose implements replica.Host.
func (k *cluster) Lose(i int) {
	if i == 0 {
		k.quotas.coordinate(nil)
	}
	k.node.shards.Lose(i)
	if s := k.running[i]; s != nil {
		s.Lose()
	}
	k.running[i] = nil
}

// SystemChanged implements replica.Host.
func (k *cluster) SystemChanged(i int) {
	if i != 0 {
		return
	}
	signal(k.systemChanged)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// makeAdminToken makes an operator's token when this node leads group 0 and there is none, or another is asked for.
func (k *cluster) makeAdminToken(another bool) {
	n := k.node
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.ledZero:
		}
		var full *disk.FullError
		err := n.registry.Follow(k.ctx)
		if err == nil && (n.registry.Empty() || another) {
			err = n.makeAdminToken(k.ctx)
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, shard.ErrNotLeader), errors.Is(err, shard.ErrUnknownOutcome): // whoever leads next does it
		case errors.As(err, &full): // it is tried again when there is space
			time.AfterFunc(disk.SpaceRetry, func() { signal(k.ledZero) })
		case k.ctx.Err() == nil:
			n.fail(err)
			return
		}
	}
}

// serve serves the other nodes' calls.
func (k *cluster) serve(admin *admin.Service) {
	n := k.node
	k.calls = rpc.NewCallsServer(n.service, admin, &peerService{cluster: k}, n.auth)
	k.background.Go(func() {
		if err := k.calls.Serve(k.mux.Calls()); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			n.fail(fmt.Errorf("serve the other nodes: %w", err))
		}
	})
}

// Failed implements replica.Host.
func (k *cluster) Failed(i int, err error) { k.node.fail(fmt.Errorf("shard %d: %w", i, err)) }

// Swap implements replica.Host.
func (k *cluster) Swap(swap func() error) error {
	k.node.storesInUse.Lock()
	defer k.node.storesInUse.Unlock()
	if k.node.storesClosed {
		return shard.ErrClosed
	}
	return swap()
}

// followRegistry keeps what is known of tenants and tokens up to date: group 0 has it.
func (k *cluster) followRegistry() {
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.systemChanged:
		}
		if err := k.node.registry.Follow(k.ctx); err != nil && k.ctx.Err() == nil {
			k.node.fail(fmt.Errorf("follow the access records: %w", err))
			return
		}
	}
}

// lacksTokens reports whether there may be access tokens that this node does not know, since it has not applied what was
// committed before it started: a node that crashed may have to apply it all again.
func (k *cluster) lacksTokens() bool {
	if k.knowsTokens.Load() {
		return false
	}
	s, err := k.replicas[0].Status()
	if err == nil && s.Leader != "" && s.CommitIndex > 0 && s.Applied >= s.CommitIndex && k.node.registry.Follow(k.ctx) == nil && !k.node.registry.Empty() {
		k.knowsTokens.Store(true)
	}
	return true // this call was judged by what was known before
}

// spreadEvery is how often a node looks whether it leads more groups than others.
const spreadEvery = 5 * time.Second

// spreadLeads hands leadership of groups over while another voter leads two fewer than this node.
func (k *cluster) spreadLeads() {
	tick := time.NewTicker(spreadEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
		if i, to := k.spare(); to != "" && !k.closing.Load() {
			if err := k.replicas[i].Transfer(to); err != nil {
				k.node.log.Info("could not hand a shard's leadership over; the node tries again", "shard", i, "to", to, "error", err)
			}
		}
	}
}

// spare returns a group that this node leads and the node that should; "" for none.
func (k *cluster) spare() (i int, to string) {
	self := k.Self()
	led := map[string]int{}
	mine := -1
	for i, r := range k.replicas {
		leader := r.Leader()
		led[leader]++
		if leader == self {
			mine = i
		}
	}
	if mine < 0 || led[""] > 0 {
		return 0, "" // none to give, or an election is under way
	}
	s, err := k.replicas[mine].Status()
	if err != nil {
		return 0, ""
	}
	for _, m := range s.Members {
		id := string(m.ID)
		if m.Suffrage == raft.Voter && k.peers.roomy(id) && k.clocks.fit(id) && led[id]+1 < led[self] && (to == "" || led[id] < led[to]) {
			to = id
		}
	}
	return mine, to
}

// handOver gives up leadership of all groups, for a node that stops: another one goes on at once, instead of after an
// election's timeout.
func (k *cluster) handOver() {
	k.closing.Store(true)
	var all sync.WaitGroup
	for _, r := range k.replicas {
		all.Go(func() {
			if err := r.Transfer(k.roomyVoter()); err != nil {
				k.node.log.Info("stopping without handing leadership over", "error", err)
			}
		})
	}
	all.Wait()
}

func (k *cluster) close() error {
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

// notReadyWhy says which group is without a leader, or "".
func (k *cluster) notReadyWhy() string {
	if !k.isAdmitted() {
		if k.identity.get().Wiped {
			return "its data folder is new: the other nodes must remove it before it can join anew"
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
			return fmt.Sprintf("no leader of shard %d is known", i)
		}
	}
	if k.config.Auth && k.node.registry.Empty() {
		return "the access tokens are not here yet"
	}
	return ""
}

// ClusterAddr returns where the other nodes connect, or "".
func (n *Node) ClusterAddr() string {
	if n.cluster == nil {
		return ""
	}
	return n.cluster.mux.Addr()
}

// NodeID returns the node's id in its cluster, or "".
func (n *Node) NodeID() string {
	if n.cluster == nil {
		return ""
	}
	return n.cluster.Self()
}

// store returns the store of a shard. Those of a cluster are replaced while storesInUse is locked.
func (n *Node) store(i int) *storage.Store {
	if n.cluster != nil {
		return n.cluster.replicas[i].Store()
	}
	return n.stores[i]
}

// clusterRecords are the node's own records where a group keeps them: read from this node's copy, written by the leader.
type clusterRecords struct {
	cluster *cluster
}

// System implements systemRecords.
func (c clusterRecords) System() ([]storage.SystemRecord, error) {
	n := c.cluster.node
	n.storesInUse.RLock()
	defer n.storesInUse.RUnlock()
	if n.storesClosed {
		return nil, shard.ErrClosed
	}
	return n.store(0).System()
}

// PutSystem implements systemRecords.
func (c clusterRecords) PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error {
	return c.cluster.node.shards.PutSystem(records, reply)
}

var _ systemRecords = clusterRecords{}
