// Package disk is what the node's Pebbles have in common: when a commit counts as done, that a failed write or fsync
// ends the process, and that a closed store is sealed.
package disk

import (
	"fmt"
	"time"
)

// Durability is when a commit counts as done.
type Durability string

// The durability modes.
const (
	// Sync: after fsync. It survives power loss.
	Sync Durability = "sync"
	// Interval: after the write reached the operating system, which fsyncs it every SyncInterval. A
	// kill of the process loses nothing; power loss loses at most about one interval.
	Interval Durability = "interval"
	// None: after the write reached the operating system. A kill of the process loses nothing.
	None Durability = "none"
)

// DefaultSyncInterval is how often the log is fsynced under Interval.
const DefaultSyncInterval = 10 * time.Millisecond

// ParseDurability reads the name of a mode.
func ParseDurability(name string) (Durability, error) {
	switch d := Durability(name); d {
	case Sync, Interval, None:
		return d, nil
	}
	return "", fmt.Errorf(`durability %q is not one of "sync", "interval", "none"`, name)
}
