package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Config says how a node runs.
type Config struct {
	DataDir string
	// Listen is where clients connect: "host:port" or "unix:/path"; port 0 lets the system choose.
	Listen []string
	// Listeners are served beside those of Listen, as they are: without TLS of the node's. Open takes them over, and
	// they are closed with the node, or when it fails.
	Listeners []net.Listener
	// HTTP is the address of the REST listener, "host:port"; without it there is no such listener.
	HTTP string
	// Admin is the address of the admin listener, "host:port"; without it there is no such listener.
	Admin string
	// AllowedHosts are further host names, without ports, that the Host header of a request to HTTP or Admin may have, and whose pages may
	// send requests. "*" accepts every Host.
	AllowedHosts []string
	// BusyPoll lets gRPC connections without TLS poll before their thread sleeps; package busypoll says when that pays.
	BusyPoll bool
	// Shards is how many shards the node has, 1 to shard.ShardsMax; 0 means 1. It is settled when the data folder
	// is first used.
	Shards int
	// StallMax is how long a commit may be under way before the node is not ready; 0 means 10s.
	StallMax   time.Duration
	Durability storage.Durability
	// DiskLow and DiskCritical are marks for the free space of the data folder's file system. Below the low mark the node refuses
	// what would grow the store, below the critical mark every change.
	DiskLow, DiskCritical storage.SpaceMark
	SyncInterval          time.Duration // with storage.Interval
	Limits                queue.Limits  // the zero value means queue.DefaultLimits
	Queue                 queue.Config  // its Account is the node's own
	// KeyFilterBytesMax bounds the filters of idempotency keys of all shards; 0 means storage.DefaultKeyFilterBytes. If it differs
	// from that, it overrides the share of Memory.
	KeyFilterBytesMax int64
	Log               *slog.Logger
	// Commit bounds what one commit has. The zero value means the defaults of package shard.
	Commit Commit
	// Stores are sizes of the stores' parts that override the shares of Memory.
	Stores memory.Sizes
	// Memory bounds the process's memory. The zero value means no bound, for a server inside another process.
	Memory memory.Size

	// Auth requires access tokens of clients. Without it every client is an operator.
	Auth bool
	// NewAdminToken makes another operator's token, with Auth, in place of the one that the server made before, and writes
	// its secret to the file that TokenFile names. The first start does so by itself.
	NewAdminToken bool
	TLS           TLS
	// Insecure lets listeners that other hosts can reach go without TLS or without authentication.
	Insecure bool

	// Settings are what the server was configured with, as /settings of the admin listener answers in JSON; nil: there is no such page.
	Settings any

	// Metrics configures /metrics of the admin listener.
	Metrics Metrics

	// Cluster makes the node one of a cluster. The zero value is a node that stands alone.
	Cluster cluster.Config

	fs    vfs.FS       // nil: the operating system's
	clock *clock.Clock // nil: the host's
}

// Commit bounds what one commit of a shard has.
type Commit struct {
	// Alone makes each command a commit of its own, to measure what group commit is worth. Cluster.Alone is that of a cluster.
	Alone bool
	// TasksMax and BytesMax are shard.Options.CommitTasksMax and CommitBytesMax.
	TasksMax, BytesMax int
}

// Bounds of Commit.
const (
	CommitTasksMaxMax = 1 << 14
	CommitBytesMaxMin = 1 << 10
	CommitBytesMaxMax = shard.DefaultInboxBytesMax
)

// Metrics configures who may read /metrics, and what it shows.
type Metrics struct {
	// Auth requires an operator's token with the scope admin, as /audit and /debug/ do. It needs Config.Auth.
	Auth bool
	// Tenants shows the figures of each queue, which name tenants and queues. Without it only the sums over all queues are shown.
	Tenants bool
}

// defaultStallMax is a long time for a commit: a slow disk takes a tenth of a second.
const defaultStallMax = 10 * time.Second

// unixPrefix marks the address of a Unix socket.
const unixPrefix = "unix:"

// Check reports every problem of the configuration at once, one on each line. Open does so itself.
func (c *Config) Check() error { return c.check() }

// check reports every problem of the configuration at once.
func (c *Config) check() error {
	var errs []error
	problem := func(path, remedy, format string, args ...any) {
		errs = append(errs, setting.Errorf(path, remedy, format, args...))
	}
	if c.DataDir == "" {
		problem("data", "name one", "data folder is empty")
	}
	if len(c.Listen)+len(c.Listeners) == 0 {
		problem("listen", "name at least one", "listen addresses are missing")
	}
	for _, address := range c.Listen {
		if path, ok := strings.CutPrefix(address, unixPrefix); ok {
			if path == "" {
				problem("listen", "write unix:/path", "listen address %q has no path", address)
			}
			if strings.HasPrefix(path, "@") { // the system would make an abstract socket, which has no mode to guard it
				problem("listen", "write unix:/path", "listen address %q begins its path with @", address)
			}
			continue
		}
		errs = append(errs, c.checkReach("listen", address))
	}
	if c.HTTP != "" {
		errs = append(errs, c.checkReach("http", c.HTTP))
	}
	if c.Admin != "" {
		errs = append(errs, c.checkReach("admin", c.Admin))
	}
	errs = append(errs, c.checkAllowedHosts()...)
	errs = append(errs, c.TLS.check())
	errs = append(errs, c.Cluster.Check()...)
	if c.NewAdminToken && !c.Auth {
		problem("new_admin_token", "turn it on with --auth on, or leave out --new-admin-token", "a new admin token is asked for, and authentication is off")
	}
	if c.Metrics.Auth && !c.Auth {
		problem("metrics.auth", "turn authentication on with --auth on, or leave out --metrics-auth", "metrics.auth is true, and authentication is off")
	}
	if c.Shards < 0 || c.Shards > shard.ShardsMax {
		problem("shards", "", "shards %d is not 1 to %d", c.Shards, shard.ShardsMax)
	}
	if c.Commit.Alone && c.Cluster.On() {
		problem("commit.group", "in a cluster, turn it off with --cluster-coalesce=false", "group commit of a server alone is off, and the server is one of a cluster")
	}
	if n := c.Commit.TasksMax; n < 0 || n > CommitTasksMaxMax {
		problem("commit.tasks_max", "", "tasks of a commit %d are not from 1 to %d", n, CommitTasksMaxMax)
	}
	if n := c.Commit.BytesMax; n != 0 && (n < CommitBytesMaxMin || n > CommitBytesMaxMax) {
		problem("commit.bytes_max", "", "bytes of a commit %d are not from %d to %d", n, CommitBytesMaxMin, CommitBytesMaxMax)
	}
	for _, s := range c.Stores.Named() {
		if n := *s.At; n != 0 && (n < s.Least || n > s.Most) {
			problem(s.Path, "", "%s %d is not from %d to %d", s.Path, n, s.Least, s.Most)
		}
	}
	if _, err := storage.ParseDurability(string(c.Durability)); err != nil {
		errs = append(errs, setting.Wrap(err, "", "durability"))
	}
	if low, critical := c.DiskLow, c.DiskCritical; low.Set && critical.Set && !low.Off() && (low.Percent > 0) == (critical.Percent > 0) &&
		(critical.Percent > low.Percent || critical.Bytes > low.Bytes) {
		errs = append(errs, setting.Wrap(errors.New("the critical mark for free disk space is above the low mark"),
			"lower --disk-critical, or raise --disk-low", "disk_critical", "disk_low"))
	}
	if c.StallMax < 0 {
		problem("stall_max", fmt.Sprintf("use 0 for the default of %v", defaultStallMax), "stall bound %v is negative", c.StallMax)
	}
	if c.SyncInterval < 0 || c.SyncInterval > time.Minute {
		problem("sync_interval", "", "sync interval %v is not above 0 and at most 1m", c.SyncInterval)
	}
	return errors.Join(errs...)
}

// checkReach refuses a listener that other hosts can reach and that lacks TLS or authentication. path is the listener's setting.
func (c *Config) checkReach(path, address string) error {
	what := path + " address"
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return setting.Errorf(path, "write host:port", "%s %q: %w", what, address, err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return setting.Errorf(path, "write a port from 0 to 65535", "%s %q has the port %q, which does not exist", what, address, port)
	}
	if isLoopback(address) || c.Insecure {
		return nil
	}
	var missing, remedies []string
	if !c.TLS.on() {
		missing, remedies = append(missing, "TLS is off"), append(remedies, "name a certificate with --tls-cert and --tls-key")
	}
	if !c.Auth && c.TLS.ClientCAFile == "" {
		missing, remedies = append(missing, "authentication is off"), append(remedies, "leave out --auth off")
	}
	if len(missing) == 0 {
		return nil
	}
	return setting.Errorf(path, strings.Join(remedies, " and ")+", listen on 127.0.0.1, [::1] or localhost, or pass --insecure if that is meant",
		"%s %q is not a loopback address, and %s", what, address, strings.Join(missing, " and "))
}

// isLoopback reports whether only this host can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
