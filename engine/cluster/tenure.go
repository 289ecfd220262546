package cluster

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// replicaHost is the host of the replicas. It runs a shard while this node leads the shard's group.
type replicaHost struct {
	config  *Options
	host    Host
	groups  *groups
	peers   *peers
	opened  <-chan struct{} // closed once the replicas are set
	quotas  *quotaShares
	access  *accessFollower
	changes *route.Changes
	// running contains, by shard, the shards that this node leads. The other elements are nil. Only
	// the leadership goroutine of a shard's replica uses the shard's element.
	running []*shard.Shard
}

var _ replica.Host = (*replicaHost)(nil)

// Lead implements replica.Host.
func (h *replicaHost) Lead(i int, store *storage.Store, log storage.Log, tenure storage.Tenure) error {
	<-h.opened
	o := h.host.ShardOptions(i)
	o.Queue.Counting = func(counts bool) { h.quotas.counting(i, counts) }
	o.Log, o.NowMs, o.Number = h.config.Log.With("shard", i), h.config.Shards.NowMs, i
	o.Replicate, o.Tenure, o.Alone = log, tenure, h.config.Alone
	o.Queue.Shard, o.Queue.Shards, o.Deliver = i, h.config.Shards.Len(), h.deliver
	o.LeaseGraceMs = clock.LeaseGrace(h.config.ClockSkewMax).Milliseconds()
	o.Failed = func(err error) {
		if errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) {
			h.groups.replicas[i].Restart()
			return
		}
		h.Failed(i, err)
	}
	s, err := shard.New(store, o)
	if err != nil {
		return err
	}
	if err := h.config.Shards.Lead(i, s); err != nil {
		s.Lose()
		return err
	}
	h.running[i] = s
	h.changes.Changed()
	if i == 0 {
		h.quotas.coordinate(access.NewCoordinator(tenure.Term, len(h.groups.replicas), h.quotas.nowMs()))
		signal.Send(h.access.ledZero)
	}
	return nil
}

// Lose implements replica.Host.
func (h *replicaHost) Lose(i int) {
	if i == 0 {
		h.quotas.coordinate(nil)
	}
	h.config.Shards.Lose(i)
	h.changes.Changed() // notify watchers before the shard refuses waiting calls
	if s := h.running[i]; s != nil {
		s.Lose()
	}
	h.running[i] = nil
}

// LeaderChanged implements replica.Host.
func (h *replicaHost) LeaderChanged(int) { h.changes.Changed() }

// SystemChanged implements replica.Host.
func (h *replicaHost) SystemChanged(i int) {
	if i == 0 {
		signal.Send(h.access.systemChanged)
	}
}

// Failed implements replica.Host.
func (h *replicaHost) Failed(i int, err error) { h.host.Fail(fmt.Errorf("shard %d: %w", i, err)) }

// Swap implements replica.Host.
func (h *replicaHost) Swap(swap func() error) error { return h.host.SwapStore(swap) }
