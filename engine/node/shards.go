package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// memTableBytesMin keeps the memtables of many shards large enough to work with.
const memTableBytesMin = 2 << 20

// openShards opens the stores of all shards at once, recovers what they hold, and starts the shards.
func (n *Node) openShards(c Config) error {
	if err := settleLayout(c.DataDir, c.Shards); err != nil {
		return err
	}
	if err := n.openStores(c); err != nil {
		return err
	}
	var err error
	n.shards, err = shard.NewGroup(n.stores, func(i int) shard.Options {
		return shard.Options{Queue: shareOf(c.Queue, c.Shards), Log: c.Log, Failed: func(err error) {
			n.fail(fmt.Errorf("shard %d: %w", i, err))
		}, Observe: n.metrics.commits(i)}
	})
	return err
}

func (n *Node) openStores(c Config) error {
	o := storage.Options{Durability: c.Durability, SyncInterval: c.SyncInterval, FS: c.fs, Log: c.Log}
	// What one shard would have, all of them share.
	o.Cache = storage.NewCache(storage.DefaultCacheBytes)
	defer o.Cache.Close()
	o.MemTableBytes = max(memTableBytesMin, storage.DefaultMemTableBytes/uint64(c.Shards))
	stores, errs := make([]*storage.Store, c.Shards), make([]error, c.Shards)
	var all sync.WaitGroup
	for i := range c.Shards {
		all.Go(func() {
			dir := filepath.Join(c.DataDir, shardsDir, fmt.Sprintf("%04d", i))
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

const (
	layoutFile   = "node.json"
	layoutFormat = 1
	shardsDir    = "shards"
)

// layout is what the first start settles for a data folder: ids and the places of tasks rest on it.
type layout struct {
	Format int `json:"format"`
	Shards int `json:"shards"`
}

// settleLayout writes how many shards a new data folder has, and refuses another number for an old one.
func settleLayout(dir string, shards int) error {
	if err := os.MkdirAll(filepath.Join(dir, shardsDir), 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	path := filepath.Join(dir, layoutFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return writeLayout(path, layout{Format: layoutFormat, Shards: shards})
	}
	if err != nil {
		return fmt.Errorf("read the data folder's layout: %w", err)
	}
	var l layout
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("%s: %w: restore it, or the data folder from a backup", path, err)
	}
	switch {
	case l.Format > layoutFormat:
		return fmt.Errorf("%s has format %d, this server reads format %d: use a newer server", path, l.Format, layoutFormat)
	case l.Format < 1 || l.Shards < 1 || l.Shards > shard.ShardsMax:
		return fmt.Errorf("%s says format %d and %d shards, which no server wrote: restore it, or the data folder from a backup", path, l.Format, l.Shards)
	case l.Shards != shards:
		return fmt.Errorf("the number of shards of data folder %s is %d, not %d: start with %d, or with another data folder", dir, l.Shards, shards, l.Shards)
	}
	return nil
}

// writeLayout writes the file whole or not at all, and durably: no shard may be made before.
func writeLayout(path string, l layout) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the data folder's layout: %w", err)
		}
	}()
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
