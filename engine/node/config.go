// Package node is a whole server: the shards, their stores, the listeners and their lifecycle.
package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Config says how a node runs.
type Config struct {
	DataDir string
	// Listen is where clients connect: "host:port" or "unix:/path"; port 0 lets the system choose.
	Listen []string
	// HTTP is the REST listener, "host:port"; empty means none.
	HTTP string
	// Admin is the admin listener, "host:port"; empty means none.
	Admin string
	// Shards is how many shards the node has, 1 to shard.ShardsMax; 0 means 1. It is settled when the data folder
	// is first used.
	Shards int
	// StallMax is how long a commit may be under way before the node is not ready; 0 means 10s.
	StallMax     time.Duration
	Durability   storage.Durability
	SyncInterval time.Duration // with storage.Interval
	Limits       queue.Limits  // the zero value means queue.DefaultLimits
	Queue        queue.Config
	Log          *slog.Logger

	fs vfs.FS // nil: the operating system's
}

// defaultStallMax is a long time for a commit: a slow disk takes a tenth of a second.
const defaultStallMax = 10 * time.Second

// unixPrefix marks the address of a Unix socket.
const unixPrefix = "unix:"

// check reports every problem of the configuration at once.
func (c *Config) check() error {
	var errs []error
	if c.DataDir == "" {
		errs = append(errs, errors.New("data folder is empty: name one"))
	}
	if len(c.Listen) == 0 {
		errs = append(errs, errors.New("listen addresses are missing: name at least one"))
	}
	for _, address := range c.Listen {
		if path, ok := strings.CutPrefix(address, unixPrefix); ok {
			if path == "" {
				errs = append(errs, fmt.Errorf("listen address %q has no path: write unix:/path", address))
			}
			continue
		}
		errs = append(errs, checkLoopback("listen address", address))
	}
	if c.HTTP != "" {
		errs = append(errs, checkLoopback("http address", c.HTTP))
	}
	if c.Admin != "" {
		errs = append(errs, checkLoopback("admin address", c.Admin))
	}
	if c.Shards < 0 || c.Shards > shard.ShardsMax {
		errs = append(errs, fmt.Errorf("shards %d is not 1 to %d", c.Shards, shard.ShardsMax))
	}
	if _, err := storage.ParseDurability(string(c.Durability)); err != nil {
		errs = append(errs, err)
	}
	if c.StallMax < 0 {
		errs = append(errs, fmt.Errorf("stall bound %v is negative: use 0 for the default of %v", c.StallMax, defaultStallMax))
	}
	if c.SyncInterval < 0 || c.SyncInterval > time.Minute {
		errs = append(errs, fmt.Errorf("sync interval %v is not above 0 and at most 1m", c.SyncInterval))
	}
	return errors.Join(errs...)
}

// checkLoopback refuses what other hosts could reach: the listeners ask nobody for a password and
// encrypt nothing.
func checkLoopback(what, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s %q: %w: write host:port", what, address, err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s %q is not a loopback address, and this server has no authentication or TLS: use 127.0.0.1, [::1] or localhost", what, address)
	}
	return nil
}
