package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

type proposal struct {
	shard   int
	future  raft.Future
	observe func(whole, applying time.Duration) // called with the times of the commit
	at      time.Time                           // time of the proposal

	answered  chan struct{} // closed once err is set
	err       error
	whole     time.Duration   // from at until the entry was applied; set before answered is closed
	applying  applying        // set before answered is closed
	abandoned <-chan struct{} // closed when the tenure's proposals no longer wait for Raft
}

// Wait implements storage.Proposal.
func (p *proposal) Wait() error {
	select {
	case <-p.answered:
		return p.err
	default:
	}
	select {
	case <-p.answered:
		return p.err
	case <-p.abandoned:
		return fmt.Errorf("%w: Raft gave no answer", shard.ErrUnknownOutcome)
	}
}

// Done implements storage.Proposal.
func (p *proposal) Done() bool {
	select {
	case <-p.answered:
		return true
	case <-p.abandoned:
		return true
	default:
		return false
	}
}

// Took returns the time from the proposal until the entry was applied, and the parts of the time
// that the store spent. Call it after Wait.
func (p *proposal) Took() (time.Duration, stalls.Parts) {
	select {
	case <-p.answered:
	default:
		return 0, stalls.Parts{}
	}
	parts := p.applying.parts
	parts.Replicate = max(0, p.whole-p.applying.took)
	return p.whole, parts
}

func (p *proposal) settle() {
	p.err = p.outcome()
	if p.err == nil {
		p.whole = time.Since(p.at)
		p.observe(p.whole, p.applying.took)
	}
	close(p.answered)
}

// outcome waits for Raft's answer. It returns shard.ErrNotLeader if the proposal had no effect, and
// shard.ErrUnknownOutcome if it may have had an effect.
func (p *proposal) outcome() error {
	err := p.future.Error()
	if apply, ok := p.future.(raft.ApplyFuture); ok && err == nil {
		switch response := apply.Response().(type) {
		case error:
			err = response
		case *applying:
			p.applying = *response
		}
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
