package disk

import (
	"fmt"
	"time"
)

// Durability determines when a commit counts as done.
type Durability string

// The durability modes.
const (
	// Sync acknowledges after the fsync. The commit survives a power loss.
	Sync Durability = "sync"
	// Interval acknowledges after the write reached the operating system; the log is fsynced every
	// SyncInterval. A kill of the process loses nothing. A power loss loses at most about one
	// interval plus the duration of the fsync under way.
	Interval Durability = "interval"
	// None acknowledges after the write reached the operating system. A kill of the process loses
	// nothing.
	None Durability = "none"
)

// DefaultSyncInterval is the default interval between fsyncs of the log under Interval.
const DefaultSyncInterval = 10 * time.Millisecond

// ParseDurability returns the mode with the given name.
func ParseDurability(name string) (Durability, error) {
	switch d := Durability(name); d {
	case Sync, Interval, None:
		return d, nil
	}
	return "", fmt.Errorf(`durability %q is not one of "sync", "interval", "none"`, name)
}
