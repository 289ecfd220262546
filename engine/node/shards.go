package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/backup"
	"github.com/pronybench/prony/engine/storage/disk"
)

// inboxBytesMin is the minimum size in bytes of each shard's inbox. If half of the total for all
// inboxes is smaller, that half is the minimum instead.
const inboxBytesMin = 4 << 20

func inboxBytes(s memory.Shares, shards int) int {
	return int(max(min(inboxBytesMin, s.InboxBytes/2), s.InboxBytes/int64(shards)))
}

// openShards opens and recovers the stores of all shards concurrently, and starts the shards.
func (n *Node) openShards(c Config) error {
	if err := n.openStores(c); err != nil {
		return err
	}
	var err error
	n.shards, err = shard.NewGroup(n.stores, func(i int) shard.Options {
		o := n.shardOptions(c, i)
		o.Log, o.NowMs = c.Log, n.clock.NowMs
		o.Failed = func(err error) { n.fail(fmt.Errorf("shard %d: %w", i, err)) }
		return o
	})
	return err
}

// shardOptions returns the options of a shard that are the same with and without a cluster.
func (n *Node) shardOptions(c Config, i int) shard.Options {
	c.Queue.Shard, c.Queue.Shards = i, c.Shards
	return shard.Options{
		Queue: shareOf(c.Queue, c.Shards), Space: n.space, InboxBytesMax: inboxBytes(n.shares, c.Shards),
		Alone: c.Commit.Alone, CommitTasksMax: c.Commit.TasksMax, CommitBytesMax: c.Commit.BytesMax,
		Observe: n.metrics.Commits(i), Turned: n.metrics.Turns(i), Stages: n.metrics.Stages(i), Stalls: n.stalls,
		Unsynced: n.metrics.Unsynced()[i],
	}
}

func (n *Node) openStores(c Config) error {
	o := storage.Options{Durability: c.Durability, SyncInterval: c.SyncInterval, FS: c.fs, Log: c.Log, Space: n.space, Stalls: n.stalls}
	o.Cache = storage.NewCache(n.shares.BlockCacheBytes, uint64(n.shares.MemTableBytes), c.Shards)
	defer o.Cache.Close()
	o.KeyFilters = storage.NewKeyFilters(n.shares.KeyFilterBytes)
	o.MemTableBytes, o.OpenTablesMax = uint64(n.shares.MemTableBytes), n.files.stores
	o.YoungBytes = n.shares.YoungBytes
	stores, errs := make([]*storage.Store, c.Shards), make([]error, c.Shards)
	var all sync.WaitGroup
	for i := range c.Shards {
		all.Go(func() {
			dir := storage.ShardFolder(c.DataDir, i)
			o := o
			o.Unsynced = n.metrics.Unsynced()[i : i+1]
			stores[i], errs[i] = storage.Open(dir, o)
			errs[i] = setting.Path(errs[i], "give the data folder and its contents to the user of the server", "data")
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

// shareOf returns one shard's share of the configured memory for tasks.
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

const dataRemedy = "name a folder with --data that the user of the server may write"

// settleLayout records the number of shards in a new data folder. For an existing data folder, it
// refuses a number that differs from the recorded one.
func settleLayout(files vfs.FS, dir string, shards int) error {
	if err := backup.CheckDataFolder(dir); err != nil {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			return setting.Path(err, dataRemedy, "data")
		}
		return setting.Wrap(err, "", "data")
	}
	if files == nil {
		files = vfs.Default
	}
	for _, folder := range []string{dir, filepath.Join(dir, storage.ShardsFolder)} {
		if err := disk.MakeFolder(files, folder); err != nil {
			return setting.Path(fmt.Errorf("make the data folder: %w", err), dataRemedy, "data")
		}
	}
	settled, err := storage.ReadLayout(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return storage.WriteLayout(dir, shards) // record it before any shard is created
	case err != nil:
		return setting.Wrap(err, "restore it, or the data folder from a backup", "data")
	case settled != shards:
		return setting.Wrap(fmt.Errorf("the number of shards of data folder %s is %d, not %d", dir, settled, shards),
			fmt.Sprintf("start with --shards %d, or with another data folder", settled), "shards", "data")
	}
	return nil
}
