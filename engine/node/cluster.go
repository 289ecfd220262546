package node

import (
	"context"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/version"
)

// openCluster opens this node's replicas and its connections to the other nodes. used is true if
// the data folder already belonged to a member.
func (n *Node) openCluster(c Config, used bool) (err error) {
	if n.shards, err = shard.NewClusterGroup(c.Shards, n.clock.NowMs, c.Log); err != nil {
		return err
	}
	n.cluster, err = cluster.Open(cluster.Options{
		Config: c.Cluster, Host: clusterHost{n, c}, DataDir: c.DataDir, Used: used, Shards: n.shards,
		Store: storage.Options{
			Durability: c.Durability, FS: c.fs, Space: n.space, MemTableBytes: uint64(n.shares.MemTableBytes), OpenTablesMax: n.files.stores,
			Stalls:     n.stalls,
			KeyFilters: storage.NewKeyFilters(n.shares.KeyFilterBytes),
		},
		CacheBytes: n.shares.BlockCacheBytes,
		Logs: logs.Options{
			Durability: c.Durability, SyncInterval: c.SyncInterval, FS: c.fs, Log: c.Log, Space: n.space, MemTableBytes: uint64(n.shares.LogMemTableBytes),
			Appended: n.metrics.RaftAppended, Stalls: n.stalls, Unsynced: n.metrics.Unsynced(),
		},
		Registry: n.registry, Clock: n.clock, Version: version.Of().Version, Log: c.Log,
	})
	return err
}

// clusterHost implements cluster.Host.
type clusterHost struct {
	node   *Node
	config Config
}

var _ cluster.Host = clusterHost{}

// ShardOptions implements cluster.Host.
func (h clusterHost) ShardOptions(i int) shard.Options { return h.node.shardOptions(h.config, i) }

// SwapStore implements cluster.Host.
func (h clusterHost) SwapStore(swap func() error) error {
	h.node.storesInUse.Lock()
	defer h.node.storesInUse.Unlock()
	if h.node.storesClosed {
		return shard.ErrClosed
	}
	return swap()
}

// Listeners implements cluster.Host.
func (h clusterHost) Listeners() cluster.Listeners {
	at := cluster.Listeners{HTTP: h.node.HTTP(), Admin: h.node.Admin()}
	if a := h.node.Addresses(); len(a) > 0 {
		at.GRPC = a[0]
	}
	return at
}

// MakeAdminToken implements cluster.Host.
func (h clusterHost) MakeAdminToken(ctx context.Context) error { return h.node.makeAdminToken(ctx) }

// KeepAdminToken implements cluster.Host.
func (h clusterHost) KeepAdminToken(complete bool) error { return h.node.keepAdminToken(complete) }

// Fail implements cluster.Host.
func (h clusterHost) Fail(err error) { h.node.fail(err) }

// ClusterAddr returns the address to which other nodes connect, or "" without a cluster.
func (n *Node) ClusterAddr() string {
	if n.cluster == nil {
		return ""
	}
	return n.cluster.Addr()
}

// NodeID returns the node's ID in its cluster, or "" without a cluster.
func (n *Node) NodeID() string {
	if n.cluster == nil {
		return ""
	}
	return n.cluster.Self()
}

// store returns the store of a shard. In a cluster, an installed snapshot replaces the store while
// storesInUse is locked.
func (n *Node) store(i int) *storage.Store {
	if n.cluster != nil {
		return n.cluster.Replicas()[i].Store()
	}
	return n.stores[i]
}

// clusterRecords reads and writes the node's own records in a cluster. It reads them from this
// node's copy; the leader writes them.
type clusterRecords struct{ node *Node }

var _ systemRecords = clusterRecords{}

// System implements systemRecords.
func (c clusterRecords) System() ([]storage.SystemRecord, error) {
	n := c.node
	n.storesInUse.RLock()
	defer n.storesInUse.RUnlock()
	if n.storesClosed {
		return nil, shard.ErrClosed
	}
	return n.store(0).System()
}

// PutSystem implements systemRecords.
func (c clusterRecords) PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error {
	return c.node.shards.PutSystem(records, reply)
}
