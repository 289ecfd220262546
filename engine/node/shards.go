package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// What one shard would have, many share, but for so much that each can work.
const (
	memTableBytesMin = 2 << 20
	inboxBytesMin    = 4 << 20
)

// openShards opens the stores of all shards at once, recovers what they hold, and starts the shards.
func (n *Node) openShards(c Config) error {
	if err := n.openStores(c); err != nil {
		return err
	}
	var err error
	n.shards, err = shard.NewGroup(n.stores, func(i int) shard.Options {
		return shard.Options{
			Queue: shareOf(c.Queue, c.Shards), Log: c.Log, Observe: n.metrics.commits(i), Stages: n.metrics.stageTimes(i),
			InboxBytesMax: max(inboxBytesMin, shard.DefaultInboxBytesMax/c.Shards),
			Failed:        func(err error) { n.fail(fmt.Errorf("shard %d: %w", i, err)) },
		}
	})
	return err
}

func (n *Node) openStores(c Config) error {
	o := storage.Options{Durability: c.Durability, SyncInterval: c.SyncInterval, FS: c.fs, Log: c.Log}
	o.Cache = storage.NewCache(storage.DefaultCacheBytes)
	defer o.Cache.Close()
	o.MemTableBytes = max(memTableBytesMin, storage.DefaultMemTableBytes/uint64(c.Shards))
	stores, errs := make([]*storage.Store, c.Shards), make([]error, c.Shards)
	var all sync.WaitGroup
	for i := range c.Shards {
		all.Go(func() {
			dir := storage.ShardFolder(c.DataDir, i)
			if errs[i] = os.MkdirAll(dir, 0o700); errs[i] == nil {
				stores[i], errs[i] = storage.Open(dir, o)
			}
		})
	}
	all.Wait()
	for _, s := range stores {
		if s != nil {
			n.stores = append(n.stores, s)
		}
	}
	return errors.Join(errs...)
}

// shareOf is one shard's part of the memory that all shards together may use for tasks.
func shareOf(c queue.Config, shards int) queue.Config {
	d := queue.DefaultConfig()
	if c.WindowsTasks == 0 {
		c.WindowsTasks = d.WindowsTasks
	}
	if c.CacheBytesMax == 0 {
		c.CacheBytesMax = d.CacheBytesMax
	}
	c.WindowsTasks = max(1, c.WindowsTasks/shards)
	c.CacheBytesMax = max(1, c.CacheBytesMax/int64(shards))
	return c
}

// settleLayout writes how many shards a new data folder has, and refuses another number for an old one.
func settleLayout(dir string, shards int) error {
	if err := storage.CheckDataFolder(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, storage.ShardsFolder), 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	settled, err := storage.ReadLayout(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return storage.WriteLayout(dir, shards) // no shard may be made before
	case err != nil:
		return fmt.Errorf("%w: restore it, or the data folder from a backup", err)
	case settled != shards:
		return fmt.Errorf("the number of shards of data folder %s is %d, not %d: start with %d, or with another data folder", dir, settled, shards, settled)
	}
	return nil
}
