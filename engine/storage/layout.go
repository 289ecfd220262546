package storage

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/pronybench/prony/engine/storage/disk"
)

// LayoutFile says, in a data folder, how many shards that has. It is written before the first shard is made, and the
// number never changes: ids and the places of tasks rest on it. Of a cluster's node it has the node's id too.
const LayoutFile = "node.json"

// layoutFormat is the newest format that this code reads, and the one it writes.
const layoutFormat = 1

// ShardsMax bounds the shards of a data folder: an id has two bytes for its shard.
const ShardsMax = 1 << 16

// ShardsFolder is the folder, in a backup as in a data folder, that has one folder for each shard.
const ShardsFolder = "shards"

// ShardFolder returns where a shard's store is in a data folder or a backup.
func ShardFolder(dir string, shard int) string {
	return filepath.Join(dir, ShardsFolder, fmt.Sprintf("%04d", shard))
}

type layout struct {
	Format int    `json:"format"`
	Shards int    `json:"shards"`
	Node   string `json:"node,omitempty"`
}

// layoutBytesMax bounds what is read of the file.
const layoutBytesMax = 4 << 10

// ReadLayout returns how many shards a data folder has. The error is fs.ErrNotExist if no server has used it yet.
func ReadLayout(data string) (shards int, err error) {
	l, err := readLayout(data)
	return l.Shards, err
}

// ReadLayoutNode returns the id of the cluster's node that a data folder is of, "" for a server that stands alone. The
// error is fs.ErrNotExist if no server has used the folder yet.
func ReadLayoutNode(data string) (node string, err error) {
	l, err := readLayout(data)
	return l.Node, err
}

func readLayout(data string) (layout, error) {
	path := filepath.Join(data, LayoutFile)
	text, err := disk.ReadBounded(path, layoutBytesMax)
	if err != nil {
		return layout{}, fmt.Errorf("read the data folder's layout: %w", err)
	}
	var l layout
	if err := json.Unmarshal(text, &l); err != nil {
		return layout{}, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case l.Format > layoutFormat:
		return layout{}, fmt.Errorf("%s has format %d, this server reads format %d: use a newer server", path, l.Format, layoutFormat)
	case l.Format < 1 || l.Shards < 1 || l.Shards > ShardsMax:
		return layout{}, fmt.Errorf("%s says format %d and %d shards, which no server wrote", path, l.Format, l.Shards)
	}
	return l, nil
}

// WriteLayout settles how many shards a data folder has. The file is there whole or not at all, also after a power loss.
func WriteLayout(data string, shards int) error {
	return writeLayout(data, layout{Format: layoutFormat, Shards: shards})
}

// WriteLayoutNode makes a data folder that has a layout one of a cluster's node.
func WriteLayoutNode(data, node string) error {
	l, err := readLayout(data)
	if err != nil {
		return err
	}
	l.Node = node
	return writeLayout(data, l)
}

func writeLayout(data string, l layout) error {
	text, err := json.Marshal(l)
	if err == nil {
		err = disk.WriteWhole(filepath.Join(data, LayoutFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the data folder's layout: %w", err)
	}
	return nil
}
