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

// Config configures a node.
type Config struct {
	DataDir string
	// Listen lists addresses for gRPC clients: "host:port" or "unix:/path". With port 0, the system
	// chooses the port.
	Listen []string
	// Listeners are served in addition to those of Listen, without the node's TLS. Open takes
	// ownership: it closes them when it fails, and Shutdown closes them otherwise.
	Listeners []net.Listener
	// HTTP is the host:port of the REST listener; "" disables it.
	HTTP string
	// Admin is the host:port of the admin listener; "" disables it.
	Admin string
	// AllowedHosts are additional host names, without ports, that are accepted in the Host header
	// of a request to HTTP or Admin. Their pages may send requests. "*" accepts every Host.
	AllowedHosts []string
	// BusyPoll lets gRPC connections without TLS poll before their thread sleeps. Package busypoll
	// describes when that is useful.
	BusyPoll bool
	// Shards is the number of shards, from 1 to shard.ShardsMax; 0 means 1. The first use of the
	// data folder fixes it.
	Shards int
	// StallMax is how long a commit may take before the node is not ready; 0 means 10s.
	StallMax   time.Duration
	Durability storage.Durability
	// DiskLow and DiskCritical are marks for the free space of the data folder's file system. Below
	// the low mark, the node refuses commands that grow the store. Below the critical mark, it
	// refuses every change.
	DiskLow, DiskCritical storage.SpaceMark
	SyncInterval          time.Duration // used with storage.Interval
	Limits                queue.Limits  // the zero value means queue.DefaultLimits
	Queue                 queue.Config  // Open sets its Account
	// KeyFilterBytesMax bounds the idempotency-key filters of all shards; 0 means
	// storage.DefaultKeyFilterBytes. Any other value than that default overrides the share of
	// Memory.
	KeyFilterBytesMax int64
	Log               *slog.Logger
	// Commit bounds the contents of one commit. The zero value means the defaults of package shard.
	Commit Commit
	// Stores has sizes of parts of the stores. They override the shares of Memory.
	Stores memory.Sizes
	// Memory bounds the process's memory. The zero value means no bound, for a server inside
	// another process.
	Memory memory.Size

	// Auth requires access tokens of clients. Without it, every client is an operator.
	Auth bool
	// NewAdminToken creates a new operator's token, with Auth. It replaces the token that the
	// server created before, and its secret goes to the file returned by TokenFile. The first start
	// creates a token even without NewAdminToken.
	NewAdminToken bool
	TLS           TLS
	// Insecure allows listeners without TLS or authentication that other hosts can reach.
	Insecure bool

	// Settings is the configuration that /settings of the admin listener returns as JSON. With nil,
	// that page does not exist.
	Settings any

	// Metrics configures /metrics of the admin listener.
	Metrics Metrics

	// Cluster makes the node a member of a cluster. The zero value configures a node without a
	// cluster.
	Cluster cluster.Config

	fs    vfs.FS       // nil means the operating system's file system
	clock *clock.Clock // nil means the host's clock
}

// Commit bounds the contents of one commit of a shard.
type Commit struct {
	// Alone disables group commit: each command is committed separately. It serves to measure the
	// benefit of group commit. In a cluster, use Cluster.Alone.
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

// Metrics configures access to /metrics and its content.
type Metrics struct {
	// Auth requires an operator's token with the scope admin, like /audit and /debug/. It needs
	// Config.Auth.
	Auth bool
	// Tenants shows the figures of each queue, whose labels name tenants and queues. Without it,
	// only the sums over all queues are shown.
	Tenants bool
}

// defaultStallMax is far longer than a commit on a slow disk, which takes about 0.1 s.
const defaultStallMax = 10 * time.Second

// unixPrefix marks the address of a Unix socket.
const unixPrefix = "unix:"

// Check returns all problems of the configuration, one per line. Open calls it too.
func (c *Config) Check() error { return c.check() }

// check implements Check.
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
			// The system would create an abstract socket, which no file mode protects.
			if strings.HasPrefix(path, "@") {
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
		problem("new_admin_token", "turn it on with --auth on, or leave out --new-admin-token", "a new admin token is requested, but authentication is off")
	}
	if c.Metrics.Auth && !c.Auth {
		problem("metrics.auth", "turn authentication on with --auth on, or leave out --metrics-auth", "metrics.auth is true, but authentication is off")
	}
	if c.Shards < 0 || c.Shards > shard.ShardsMax {
		problem("shards", "", "shards %d is not 1 to %d", c.Shards, shard.ShardsMax)
	}
	if c.Commit.Alone && c.Cluster.On() {
		problem("commit.group", "in a cluster, turn it off with --cluster-coalesce=false", "group commit of a server without a cluster is off, but the server is in a cluster")
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

// checkReach refuses a listener without TLS or authentication that other hosts can reach. path is
// the listener's setting.
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

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
