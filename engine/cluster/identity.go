package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/storage/disk"
)

// identityFile is the name of a file in the data folder. It contains the node's identity in its
// cluster, and identifies the data folders of the other nodes.
const identityFile = "cluster.json"

const (
	// identityFormat is the newest format that this code reads, and the format that it writes.
	identityFormat = 1
	// incarnationsMax is the maximum number of stored incarnations of other nodes. The incarnations
	// of former members are dropped first.
	incarnationsMax = 64
)

type identityRecord struct {
	Format int `json:"format"`
	// Incarnation is a random text that identifies this data folder.
	Incarnation string `json:"incarnation"`
	// Wiped is true if the node was a member with another data folder, which is lost. The node must
	// join again.
	Wiped bool `json:"wiped,omitempty"`
	// Admitted is true if the node may take part in the cluster.
	Admitted bool `json:"admitted,omitempty"`
	// Seen contains, by node, the incarnations of the other nodes that have applied committed
	// entries.
	Seen map[string]string `json:"seen,omitempty"`
}

// identity is this node's identity. It writes each change to the file. Its methods are safe for
// concurrent use.
type identity struct {
	path string

	mu     sync.Mutex
	record identityRecord
}

// openIdentity reads this node's identity. used is true if a member has used the folder before
// servers wrote identity files.
func openIdentity(dir string, used bool) (*identity, error) {
	d := &identity{path: filepath.Join(dir, identityFile)}
	text, err := os.ReadFile(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		d.record = identityRecord{Format: identityFormat, Incarnation: rand.Text(), Admitted: used}
		return d, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the node's identity: %w", err)
	}
	if err := json.Unmarshal(text, &d.record); err != nil {
		return nil, fmt.Errorf("%s: %w", d.path, err)
	}
	switch r := d.record; {
	case r.Format > identityFormat:
		return nil, fmt.Errorf("%s has format %d, this server reads format %d: use a newer server", d.path, r.Format, identityFormat)
	case r.Format < 1 || r.Incarnation == "":
		return nil, fmt.Errorf("%s says format %d and incarnation %q, which no server wrote", d.path, r.Format, r.Incarnation)
	}
	return d, nil
}

func (d *identity) get() identityRecord {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.record
	out.Seen = nil // the map may be modified concurrently
	return out
}

// seen returns the last known incarnation of another node that has applied committed entries, or
// "".
func (d *identity) seen(node string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.record.Seen[node]
}

// standing returns whether this node knows the given node with another data folder. incarnation
// identifies the node's current data folder.
func (d *identity) standing(node, incarnation string) peerpb.Standing {
	if seen := d.seen(node); seen != "" && seen != incarnation {
		return peerpb.Standing_STANDING_KNOWN_OTHER
	}
	return peerpb.Standing_STANDING_UNKNOWN
}

// note stores the incarnation of another node that has applied committed entries. member reports
// whether a node is a member.
func (d *identity) note(node, incarnation string, member func(node string) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.record.Seen[node] == incarnation {
		return nil
	}
	changed := d.record
	changed.Seen = maps.Clone(changed.Seen)
	if changed.Seen == nil {
		changed.Seen = map[string]string{}
	}
	if len(changed.Seen) >= incarnationsMax {
		maps.DeleteFunc(changed.Seen, func(node, _ string) bool { return !member(node) })
	}
	changed.Seen[node] = incarnation
	return d.storeLocked(changed)
}

func (d *identity) change(wiped, admitted bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed := d.record
	changed.Wiped, changed.Admitted = wiped, admitted
	return d.storeLocked(changed)
}

// keep writes the file. Before the first start, the file does not exist.
func (d *identity) keep() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.storeLocked(d.record)
}

// storeLocked writes the file. The caller holds d.mu.
func (d *identity) storeLocked(r identityRecord) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = disk.WriteWhole(d.path, text)
	}
	if err != nil {
		return fmt.Errorf("store the node's identity: %w", err)
	}
	d.record = r
	return nil
}
