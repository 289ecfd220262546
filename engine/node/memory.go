package node

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/storage"
)

// payloadOverhead is the maximum number of bytes of a message in addition to its payload.
const payloadOverhead = 64 << 10

// divideMemory divides the memory among the parts of the node. It also starts the goroutines that
// limit connections and watch the process's memory.
func (n *Node) divideMemory(c *Config) error {
	total, err := c.Memory.Resolve()
	if err != nil {
		return setting.Errorf("memory", "", "memory: %w", err)
	}
	n.shares = memory.SharesOf(total, c.Shards, c.Cluster.On())
	if err := n.shares.Apply(c.Stores, c.Shards, c.Cluster.On()); err != nil {
		return setting.Wrap(err, "raise --memory, or lower the sizes", append(c.Stores.Paths(), "memory")...)
	}
	if total > 0 && c.Limits.PayloadBytesMax > n.shares.MessageBytes-payloadOverhead {
		return setting.Wrap(fmt.Errorf("memory of %d MiB allows messages of up to %d bytes, but the largest payload is %d",
			total>>20, n.shares.MessageBytes, c.Limits.PayloadBytesMax), "raise --memory, or lower --limits-payload-max", "memory", "limits.payload_max")
	}
	c.Queue = queueShares(c.Queue, n.shares)
	n.shares.KeyFilterBytes = keyFilterShare(c.KeyFilterBytesMax, n.shares)
	files, err := openFiles(c.Shards)
	if err != nil {
		return err
	}
	n.files = files
	n.conns = newConns(n.shares, files.connections, n.log)
	if total > 0 {
		n.conns.gate = memory.NewGate(total, n.conns.cut, n.log)
	}
	n.bounds = call.NewBounds(n.shares, n.conns.gate)
	ctx, cancel := context.WithCancel(context.Background())
	n.stopWatching = cancel
	n.watching.Go(func() { n.conns.sweep(ctx) })
	if total > 0 {
		n.watching.Go(func() { n.conns.gate.Watch(ctx) })
	}
	return nil
}

func (n *Node) unwatch() {
	if n.stopWatching != nil {
		n.stopWatching()
	}
	n.watching.Wait()
}

// queueShares sets the limits of the shards to their shares of the memory. A configured limit that
// differs from the default overrides the share.
func queueShares(c queue.Config, s memory.Shares) queue.Config {
	d := queue.DefaultConfig()
	if cmp.Or(c.CacheBytesMax, d.CacheBytesMax) == d.CacheBytesMax {
		c.CacheBytesMax = min(d.CacheBytesMax, s.PayloadBytes)
	}
	if cmp.Or(c.WindowsTasks, d.WindowsTasks) == d.WindowsTasks {
		c.WindowsTasks = min(d.WindowsTasks, s.WindowTasks)
	}
	if cmp.Or(c.Queues, d.Queues) == d.Queues {
		c.Queues = min(d.Queues, s.Queues)
	}
	if cmp.Or(c.RefillBytesMax, d.RefillBytesMax) == d.RefillBytesMax {
		c.RefillBytesMax = min(d.RefillBytesMax, max(refillBytesMin, c.CacheBytesMax/4))
	}
	return c
}

// keyFilterShare returns the limit, in bytes, of the filters of idempotency keys. A configured
// limit that differs from the default overrides the share.
func keyFilterShare(configured int64, s memory.Shares) int64 {
	if most := cmp.Or(configured, storage.DefaultKeyFilterBytes); most != storage.DefaultKeyFilterBytes {
		return most
	}
	return s.KeyFilterBytes
}

// refillBytesMin is large enough for a refill to read several tasks of typical size.
const refillBytesMin = 256 << 10
