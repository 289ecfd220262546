package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/build"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage/backup"
	"github.com/pronybench/prony/engine/version"
)

// host implements admin.Host for the node.
type host struct {
	*Node

	config    Config
	startedAt time.Time
	backup    chan struct{} // contains an element while a backup is being made
}

func newHost(n *Node, c Config) *host {
	return &host{Node: n, config: c, startedAt: time.Now(), backup: make(chan struct{}, 1)}
}

// Status implements admin.Host.
func (h *host) Status() admin.Status {
	this := build.This()
	_, now := h.clock.Now()
	return admin.Status{
		Version: version.Of().Version, Build: &adminpb.Build{Commit: this.Commit, Modified: this.Modified, Sha256: this.SHA256}, StartedAtMs: h.startedAt.UnixMilli(), Durability: string(h.config.Durability), NotReady: h.notReadyWhy(),
		Clock: time.Unix(0, now), WallClockAhead: h.clock.Offset(), Disk: h.diskStatus(),
	}
}

// removeUnfinished removes unfinished backups of a previous server from the data folder.
func (n *Node) removeUnfinished(data string) {
	removed, err := backup.RemoveUnfinished(data)
	for _, path := range removed {
		n.log.Info("removed an unfinished backup of an earlier server", "folder", path)
	}
	if err != nil {
		n.log.Warn("could not remove unfinished backups of an earlier server", "error", err)
	}
}

// Backup implements admin.Host. If the node stops, it waits until the shard that is being copied is
// complete.
func (h *host) Backup(ctx context.Context, name string) (path string, bytes int64, err error) {
	select {
	case h.backup <- struct{}{}:
		defer func() { <-h.backup }()
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
	data, err := filepath.Abs(h.config.DataDir)
	if err != nil {
		return "", 0, fmt.Errorf("find the data folder: %w", err)
	}
	m := backup.Manifest{CreatedAtMs: time.Now().UnixMilli(), Version: version.Of().Version, Shards: h.shards.Len()}
	path, m, err = backup.Make(ctx, data, name, m, func(i int, dir string) error {
		h.storesInUse.RLock()
		defer h.storesInUse.RUnlock()
		if h.storesClosed {
			return shard.ErrClosed
		}
		return h.store(i).Checkpoint(dir)
	})
	return path, m.Bytes(), err
}
