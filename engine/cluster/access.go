package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage/disk"
)

// EnsureAdminToken makes an operator's token once this node leads group 0, if there is no token then or another one is asked for. It
// returns at once.
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
		if err == nil { // a leader has applied all that earlier leaders committed
			err = k.host.KeepAdminToken(true)
		}
		if err == nil && (k.registry.Empty() || another) {
			err = k.host.MakeAdminToken(k.ctx)
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, shard.ErrNotLeader), errors.Is(err, shard.ErrUnknownOutcome): // the next leader does it
		case errors.As(err, &full): // it is tried again when there is space
			time.AfterFunc(disk.SpaceRetry, func() { signal.Send(k.ledZero) })
		case k.ctx.Err() == nil:
			k.host.Fail(err)
			return
		}
	}
}

// followRegistry keeps what is known of tenants and tokens up to date: group 0 has it.
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

// LacksTokens reports whether this node may be missing access tokens, because it has not yet applied all entries that were
// committed before it started. A node that crashed may have to apply all of these entries again.
func (k *Cluster) LacksTokens() bool {
	if k.knowsTokens.Load() {
		return false
	}
	s, err := k.replicas[0].Status()
	if err == nil && s.Leader != "" && s.CommitIndex > 0 && s.Applied >= s.CommitIndex && k.registry.Follow(k.ctx) == nil && !k.registry.Empty() {
		k.knowsTokens.Store(true)
	}
	return true // this call's token was checked before Follow read the registry
}
