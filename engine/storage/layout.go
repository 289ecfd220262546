package storage

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// LayoutFile says, in a data folder, how many shards that has. It is written before the first shard is made and never
// changes: ids and the places of tasks rest on it.
const LayoutFile = "node.json"

// layoutFormat is the newest format that this code reads, and the one it writes.
const layoutFormat = 1

type layout struct {
	Format int `json:"format"`
	Shards int `json:"shards"`
}

// layoutBytesMax bounds what is read of the file.
const layoutBytesMax = 4 << 10

// ReadLayout returns how many shards a data folder has. The error is fs.ErrNotExist if no server has used it yet.
func ReadLayout(data string) (shards int, err error) {
	path := filepath.Join(data, LayoutFile)
	text, err := readBounded(path, layoutBytesMax)
	if err != nil {
		return 0, fmt.Errorf("read the data folder's layout: %w", err)
	}
	var l layout
	if err := json.Unmarshal(text, &l); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case l.Format > layoutFormat:
		return 0, fmt.Errorf("%s has format %d, this server reads format %d: use a newer server", path, l.Format, layoutFormat)
	case l.Format < 1 || l.Shards < 1 || l.Shards > shardsMax:
		return 0, fmt.Errorf("%s says format %d and %d shards, which no server wrote", path, l.Format, l.Shards)
	}
	return l.Shards, nil
}

// WriteLayout settles how many shards a data folder has. The file is there whole or not at all, also after a power loss.
func WriteLayout(data string, shards int) error {
	text, err := json.Marshal(layout{Format: layoutFormat, Shards: shards})
	if err == nil {
		err = writeWhole(filepath.Join(data, LayoutFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the data folder's layout: %w", err)
	}
	return nil
}
