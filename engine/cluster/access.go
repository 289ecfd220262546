package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage/disk"
)

// accessFollower keeps this node's copy of the tenants and tokens up to date, and creates the first
// operator's token. Group 0 stores them.
type accessFollower struct {
	registry   *access.Registry
	host       Host
	groups     *groups
	background *background

	systemChanged chan struct{} // contains an element when the registry should be read again
	ledZero       chan struct{} // contains an element when this node has started to lead group 0
	// knowsTokens is true once this node has applied all access records that were committed before
	// it started.
	knowsTokens atomic.Bool
}

// EnsureAdminToken makes the leader of group 0 create an operator's token, when this node is that
// leader. The token is created if the registry contains none by then, or if another is true.
// EnsureAdminToken does not wait for this.
func (f *accessFollower) EnsureAdminToken(another bool) {
	f.background.start(func(ctx context.Context) { f.makeAdminToken(ctx, another) })
}

func (f *accessFollower) makeAdminToken(ctx context.Context, another bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.ledZero:
		}
		var full *disk.FullError
		err := f.registry.Follow(ctx)
		if err == nil { // a leader has applied all entries that were committed before
			err = f.host.KeepAdminToken(true)
		}
		if err == nil && (f.registry.Empty() || another) {
			err = f.host.MakeAdminToken(ctx)
		}
		switch {
		case err == nil:
			return
		// The next leader creates the token.
		case errors.Is(err, shard.ErrNotLeader), errors.Is(err, shard.ErrUnknownOutcome):
		case errors.As(err, &full): // retry when there is space
			time.AfterFunc(disk.SpaceRetry, func() { signal.Send(f.ledZero) })
		case ctx.Err() == nil:
			f.host.Fail(err)
			return
		}
	}
}

// followRegistry reads the registry again after each change, until ctx ends.
func (f *accessFollower) followRegistry(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.systemChanged:
		}
		err := f.registry.Follow(ctx)
		if err == nil {
			err = f.host.KeepAdminToken(false)
		}
		if err != nil && ctx.Err() == nil {
			f.host.Fail(fmt.Errorf("follow the access records: %w", err))
			return
		}
	}
}

// LacksTokens reports whether this node may lack access tokens, because it has not yet applied all
// entries that were committed before it started. After a crash, a node may have to apply all of
// these entries again.
func (f *accessFollower) LacksTokens() bool {
	if f.knowsTokens.Load() {
		return false
	}
	s, err := f.groups.replicas[0].Status()
	if err == nil && s.Leader != "" && s.CommitIndex > 0 && s.Applied >= s.CommitIndex && f.registry.Follow(f.background.ctx) == nil && !f.registry.Empty() {
		f.knowsTokens.Store(true)
	}
	return true // the token of this call was checked before Follow read the registry
}
