package node

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/node/metrics"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// watch passes to the metrics the functions that they call at each scrape. If tenants is true, the
// metrics contain series of each queue.
func (n *Node) watch(tenants bool) {
	var certificateEnd func() time.Time
	if n.tls != nil {
		certificateEnd = func() time.Time { return n.tls.leaf().NotAfter }
	}
	n.metrics.Watch(metrics.Sources{
		CertificateEnd: certificateEnd,
		Queues:         n.stats, NowMs: n.shards.NowMs, Tenants: tenants, NotReady: n.notReadyWhy, Subscribers: n.shards.Subscribers, ClockAhead: n.clock.Offset,
		MemoryMax: n.shares.Total, Gate: n.conns.gate.Counters, Space: n.space,
		Shards: n.shards.Len(), Store: func(i int) storage.Counters { return n.store(i).Counters() }, Pebble: n.pebbleMetrics,
		Stalls: n.stalls,
	})
	if k := n.cluster; k != nil {
		n.metrics.WatchCluster(metrics.ClusterSources{
			Self: k.Self(), Replicas: k.Replicas(), Skews: k.Skews, MayLead: k.MayLead, CertificateEnd: k.CertificateEnd, PeersRefused: k.PeersRefused, LogSyncs: k.LogSyncs,
		})
	}
}

// statsMax limits the time that a scrape waits for the shards' figures. It is shorter than the
// timeout of a scraper.
const statsMax = 5 * time.Second

// stats returns the figures of the shards' queues. It waits for at most statsMax if a shard is
// stalled.
func (n *Node) stats() ([]queue.Stats, error) {
	type answer struct {
		stats []queue.Stats
		err   error
	}
	done := make(chan answer, 1)
	if err := n.shards.Stats(func(s []queue.Stats, err error) { done <- answer{s, err} }); err != nil {
		return nil, fmt.Errorf("ask the shards for their figures: %w", err)
	}
	over := time.NewTimer(n.statsMax)
	defer over.Stop()
	select {
	case a := <-done:
		return a.stats, a.err
	case <-over.C:
		return nil, fmt.Errorf("ask the shards for their figures: no answer within %v", n.statsMax)
	}
}

// pebbleMetrics returns the figures of the shards' stores. It returns nil while a store is being
// replaced, so that a scrape does not wait for the replacement.
func (n *Node) pebbleMetrics() []storage.PebbleMetrics {
	if !n.storesInUse.TryRLock() {
		return nil
	}
	defer n.storesInUse.RUnlock()
	if n.storesClosed {
		return nil
	}
	out := make([]storage.PebbleMetrics, n.shards.Len())
	for i := range out {
		out[i] = n.store(i).PebbleMetrics()
	}
	return out
}
