package disk

import (
	"fmt"
	"time"
)

// Durability determines when a commit is acknowledged.
type Durability string

// The durability modes.
const (
	// Sync acknowledges a commit after its fsync. The commit survives a power loss.
	Sync Durability = "sync"
	// Interval acknowledges a commit after its write reached the operating system; the log is
	// fsynced every SyncInterval. If the process is killed, no commit is lost. A power loss loses
	// the commits of at most about one interval plus the duration of the fsync under way.
	Interval Durability = "interval"
	// None acknowledges a commit after its write reached the operating system. If the process is
	// killed, no commit is lost. A power loss may lose any number of recent commits.
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
