package replica

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// proposal is an entry or a question on its way through Raft.
type proposal struct {
	shard   int
	future  raft.Future
	check   func() error        // after the future; may be nil
	observe func(time.Duration) // how long it took; may be nil
	at      time.Time

	once sync.Once
	err  error
	done atomic.Bool
}

// Wait implements storage.Proposal.
func (p *proposal) Wait() error {
	p.once.Do(func() {
		p.err = p.outcome()
		p.done.Store(true)
		if p.err == nil && p.observe != nil {
			p.observe(time.Since(p.at))
		}
	})
	return p.err
}

// Done implements storage.Proposal.
func (p *proposal) Done() bool { return p.done.Load() }

// outcome says whether nothing was done, or that it is not known.
func (p *proposal) outcome() error {
	err := p.future.Error()
	if apply, ok := p.future.(raft.ApplyFuture); ok && err == nil {
		err, _ = apply.Response().(error)
	}
	if err == nil && p.check != nil {
		err = p.check()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, storage.ErrSkipped):
		return fmt.Errorf("%w: %w", &shard.NotLeaderError{Shard: p.shard}, err)
	default:
		return fmt.Errorf("%w: %w", shard.ErrUnknownOutcome, err)
	}
}
