package disk

import (
	"fmt"
	"time"
)

// Durability says when a commit counts as done.
type Durability string

// The durability modes.
const (
	// Sync: after the fsync. The commit survives a power loss.
	Sync Durability = "sync"
	// Interval: after the write reached the operating system; the log is fsynced every SyncInterval. A kill of the process
	// loses nothing; a power loss loses at most about one interval and the time of the fsync under way.
	Interval Durability = "interval"
	// None: after the write reached the operating system. A kill of the process loses nothing.
	None Durability = "none"
)

// DefaultSyncInterval is how often the log is fsynced under Interval.
const DefaultSyncInterval = 10 * time.Millisecond

// ParseDurability returns the mode of a name.
func ParseDurability(name string) (Durability, error) {
	switch d := Durability(name); d {
	case Sync, Interval, None:
		return d, nil
	}
	return "", fmt.Errorf(`durability %q is not one of "sync", "interval", "none"`, name)
}
