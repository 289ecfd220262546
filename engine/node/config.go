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
	// Listen lists addresses for gRPC clients, as "host:port" or "unix:/path". If the port is 0,
	// the system chooses the port.
	Listen []string
	// Listeners are listeners that the node serves in addition to the addresses of Listen, without
	// the node's TLS. Open takes ownership: it closes them if it fails; otherwise Shutdown closes
	// them.
	Listeners []net.Listener
	// HTTP is the host:port of the REST listener; "" disables it.
	HTTP string
	// Admin is the host:port of the admin listener; "" disables it.
	Admin string
	// AllowedHosts are additional host names, without ports, that the node accepts in the Host
	// header of a request to HTTP or Admin. Pages of these hosts may send requests. "*" accepts
	// every Host.
	AllowedHosts []string
	// UI is true if the admin listener serves the web page of package ui.
	UI bool
	// BusyPoll makes gRPC connections without TLS poll before their thread sleeps. Package busypoll
	// describes when this is useful.
	BusyPoll bool
	// Shards is the number of shards, from 1 to shard.ShardsMax; 0 means 1. It cannot change after
	// the first use of the data folder.
	Shards int
	// StallMax is the maximum duration of a commit. If a commit takes longer, the node is not
	// ready. 0 means 10s.
	StallMax   time.Duration
	Durability storage.Durability
	// DiskLow and DiskCritical are limits for the free space of the data folder's file system. If
	// less space than DiskLow is free, the node refuses commands that increase the size of the
	// store. If less than DiskCritical is free, it refuses every change.
	DiskLow, DiskCritical storage.SpaceMark
	SyncInterval          time.Duration // interval of fsyncs; used with storage.Interval
	Limits                queue.Limits  // the zero value means queue.DefaultLimits
	Queue                 queue.Config  // Open sets the field Account
	// KeyFilterBytesMax limits the bytes of the idempotency-key filters of all shards; 0 means
	// storage.DefaultKeyFilterBytes. Any value other than that default overrides the share of
	// Memory for the filters.
	KeyFilterBytesMax int64
	Log               *slog.Logger
	// Commit limits the contents of one commit. Its zero value means the defaults of package shard.
	Commit Commit
	// Stores contains sizes of parts of the stores. They override the shares of Memory for these
	// parts.
	Stores memory.Sizes
	// Memory limits the memory of the process. The zero value means no limit, for a server inside
	// another process.
	Memory memory.Size

	// Auth is true if clients need access tokens. Otherwise every client is an operator.
	Auth bool
	// NewAdminToken makes the node create a new operator's token. It requires Auth. The new token
	// replaces the token that the server created before. Its secret is in the file that TokenFile
	// returns. The first start creates a token even without NewAdminToken.
	NewAdminToken bool
	TLS           TLS
	// Insecure allows listeners without TLS or authentication that are reachable from other hosts.
	Insecure bool

	// Settings is the configuration that the page /settings of the admin listener returns as JSON.
	// If it is nil, that page does not exist.
	Settings any

	// Metrics configures /metrics of the admin listener.
	Metrics Metrics

	// Cluster makes the node a member of a cluster. Its zero value means a node without a cluster.
	Cluster cluster.Config

	fs    vfs.FS       // nil means the operating system's file system
	clock *clock.Clock // nil means a clock that follows the host's
}

// Commit limits the contents of one commit of a shard.
type Commit struct {
	// Alone disables group commit: each command is committed separately. It is used to measure the
	// benefit of group commit. In a cluster, use Cluster.Alone instead.
	Alone bool
	// TasksMax and BytesMax are the values of shard.Options.CommitTasksMax and CommitBytesMax.
	TasksMax, BytesMax int
}

// These are the limits of the fields of Commit.
const (
	CommitTasksMaxMax = 1 << 14
	CommitBytesMaxMin = 1 << 10
	CommitBytesMaxMax = shard.DefaultInboxBytesMax
)

// Metrics configures the content of /metrics and who may read it.
type Metrics struct {
	// Auth is true if /metrics requires an operator's token with the scope admin, as /audit and
	// /debug/ do. It requires Config.Auth.
	Auth bool
	// Tenants is true if /metrics contains series of each queue, whose labels name tenants and
	// queues. Otherwise it contains only sums over all queues.
	Tenants bool
}

// defaultStallMax is far longer than a commit on a slow disk, which takes about 0.1 s.
const defaultStallMax = 10 * time.Second

// unixPrefix marks the address of a Unix socket.
const unixPrefix = "unix:"

// Check returns all problems of the configuration, one per line. Open calls it too.
func (c *Config) Check() error { return c.check() }

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
			// The system would create an abstract socket, which has no file mode to protect it.
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

// checkReach refuses a listener without TLS or authentication that is reachable from other hosts.
// path is the listener's setting.
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

// Embedded returns the configuration of a server inside another process. The server serves
// listener, which may be reachable only from that process. It serves REST and admin on loopback
// ports that the system chooses. Every client is an operator. durability is "sync", "interval" or
// "none". The caller may change the configuration before Open.
func Embedded(dataDir, durability string, listener net.Listener) (Config, error) {
	parsed, err := storage.ParseDurability(durability)
	if err != nil {
		return Config{}, err
	}
	return Config{
		DataDir: dataDir, Durability: parsed, SyncInterval: storage.DefaultSyncInterval,
		Listeners: []net.Listener{listener}, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0",
		Limits: queue.DefaultLimits(), Queue: queue.DefaultConfig(),
	}, nil
}
