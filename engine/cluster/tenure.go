package cluster

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// replicaHost is the host of the replicas. It runs a shard while this node leads the shard's group.
type replicaHost struct{ *Cluster }

var _ replica.Host = replicaHost{}

// Lead implements replica.Host.
func (k replicaHost) Lead(i int, store *storage.Store, log storage.Log, tenure storage.Tenure) error {
	<-k.opened
	o := k.host.ShardOptions(i)
	o.Queue.Counting = func(counts bool) { k.quotas.counting(i, counts) }
	o.Log, o.NowMs, o.Number = k.log.With("shard", i), k.shards.NowMs, i
	o.Replicate, o.Tenure, o.Alone = log, tenure, k.config.Alone
	o.LeaseGraceMs = clock.LeaseGrace(k.config.ClockSkewMax).Milliseconds()
	o.Failed = func(err error) {
		if errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) {
			k.replicas[i].Restart()
			return
		}
		k.Failed(i, err)
	}
	s, err := shard.New(store, o)
	if err != nil {
		return err
	}
	if err := k.shards.Lead(i, s); err != nil {
		s.Lose()
		return err
	}
	k.running[i] = s
	k.Changed()
	if i == 0 {
		k.quotas.coordinate(access.NewCoordinator(tenure.Term, len(k.replicas), k.quotas.nowMs()))
		signal.Send(k.ledZero)
	}
	return nil
}

// Lose implements replica.Host.
func (k replicaHost) Lose(i int) {
	if i == 0 {
		k.quotas.coordinate(nil)
	}
	k.shards.Lose(i)
	k.Changed() // notify watchers before the shard refuses waiting calls
	if s := k.running[i]; s != nil {
		s.Lose()
	}
	k.running[i] = nil
}

// LeaderChanged implements replica.Host.
func (k replicaHost) LeaderChanged(int) { k.Changed() }

// SystemChanged implements replica.Host.
func (k replicaHost) SystemChanged(i int) {
	if i == 0 {
		signal.Send(k.systemChanged)
	}
}

// Failed implements replica.Host.
func (k replicaHost) Failed(i int, err error) { k.host.Fail(fmt.Errorf("shard %d: %w", i, err)) }

// Swap implements replica.Host.
func (k replicaHost) Swap(swap func() error) error { return k.host.SwapStore(swap) }
