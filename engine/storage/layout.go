package storage

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/pronybench/prony/engine/storage/disk"
)

// LayoutFile is the file of a data folder that records the number of its shards and, in a cluster,
// the id of the node. It is written before the first shard is created. The number never changes,
// because ids and the placement of tasks depend on it.
const LayoutFile = "node.json"

// layoutFormat is the newest format that this code reads, and the format that it writes.
const layoutFormat = 1

// ShardsMax is the maximum number of shards of a data folder, because an id stores its shard in two
// bytes.
const ShardsMax = 1 << 16

// ShardsFolder is the name of the folder, in a data folder or a backup, that contains a folder for
// each shard.
const ShardsFolder = "shards"

// ShardFolder returns the path of a shard's store in a data folder or a backup.
func ShardFolder(dir string, shard int) string {
	return filepath.Join(dir, ShardsFolder, fmt.Sprintf("%04d", shard))
}

type layout struct {
	Format int    `json:"format"`
	Shards int    `json:"shards"`
	Node   string `json:"node,omitempty"`
}

// layoutBytesMax is the maximum size of the file in bytes.
const layoutBytesMax = 4 << 10

// ReadLayout returns the number of shards of a data folder. The error is fs.ErrNotExist if no
// server has used the folder yet.
func ReadLayout(data string) (shards int, err error) {
	l, err := readLayout(data)
	return l.Shards, err
}

// ReadLayoutNode returns the id of the node that a data folder belongs to, or "" for a server
// without a cluster. The error is fs.ErrNotExist if no server has used the folder yet.
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

// WriteLayout records the number of shards of a data folder. The write is atomic, even across a
// power loss.
func WriteLayout(data string, shards int) error {
	return writeLayout(data, layout{Format: layoutFormat, Shards: shards})
}

// WriteLayoutNode adds the id of a cluster's node to the layout of a data folder.
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
