package backup

import (
	"fmt"
	"sync/atomic"
)

// Progress tracks the progress of a Restore. The zero value is ready for use. A nil Progress
// records nothing. Its methods are safe for concurrent use.
type Progress struct {
	copied, bytes   atomic.Int64
	checked, shards atomic.Int64
}

func (p *Progress) begin(m *Manifest) {
	if p != nil {
		p.bytes.Store(m.Bytes())
		p.shards.Store(int64(m.Shards))
	}
}

func (p *Progress) copiedMore(n int) {
	if p != nil {
		p.copied.Add(int64(n))
	}
}

// checking records that the check of a shard begins. The first shard has the number 1.
func (p *Progress) checking(shard int) {
	if p != nil {
		p.checked.Store(int64(shard))
	}
}

// String describes the current step.
func (p *Progress) String() string {
	switch copied, bytes := p.copied.Load(), p.bytes.Load(); {
	case bytes == 0:
		return "reading the manifest"
	case p.checked.Load() > 0:
		return fmt.Sprintf("checking shard %d of %d", p.checked.Load(), p.shards.Load())
	default:
		return fmt.Sprintf("copied %d of %d MiB", copied>>20, (bytes+1<<20-1)>>20)
	}
}
