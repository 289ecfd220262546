package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage/disk"
)

// EnsureAdminToken makes the leader of group 0 create an operator's token, when this node is that
// leader. The token is created if the registry contains none by then, or if another is true.
// EnsureAdminToken does not wait for this.
func (k *Cluster) EnsureAdminToken(another bool) {
	k.background.Go(func() { k.makeAdminToken(another) })
}

func (k *Cluster) makeAdminToken(another bool) {
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.ledZero:
		}
		var full *disk.FullError
		err := k.registry.Follow(k.ctx)
		if err == nil { // a leader has applied all entries that were committed before
			err = k.host.KeepAdminToken(true)
		}
		if err == nil && (k.registry.Empty() || another) {
			err = k.host.MakeAdminToken(k.ctx)
		}
		switch {
		case err == nil:
			return
		// The next leader creates the token.
		case errors.Is(err, shard.ErrNotLeader), errors.Is(err, shard.ErrUnknownOutcome):
		case errors.As(err, &full): // retry when there is space
			time.AfterFunc(disk.SpaceRetry, func() { signal.Send(k.ledZero) })
		case k.ctx.Err() == nil:
			k.host.Fail(err)
			return
		}
	}
}

// followRegistry keeps this node's copy of the tenants and tokens up to date. Group 0 stores them.
func (k *Cluster) followRegistry() {
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.systemChanged:
		}
		err := k.registry.Follow(k.ctx)
		if err == nil {
			err = k.host.KeepAdminToken(false)
		}
		if err != nil && k.ctx.Err() == nil {
			k.host.Fail(fmt.Errorf("follow the access records: %w", err))
			return
		}
	}
}

// LacksTokens reports whether this node may lack access tokens, because it has not yet applied all
// entries that were committed before it started. After a crash, a node may have to apply all of
// these entries again.
func (k *Cluster) LacksTokens() bool {
	if k.knowsTokens.Load() {
		return false
	}
	s, err := k.replicas[0].Status()
	if err == nil && s.Leader != "" && s.CommitIndex > 0 && s.Applied >= s.CommitIndex && k.registry.Follow(k.ctx) == nil && !k.registry.Empty() {
		k.knowsTokens.Store(true)
	}
	return true // the token of this call was checked before Follow read the registry
}
