package config

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Setting is one configurable value.
type Setting struct {
	// Path is the name of the setting in the file. Examples are "sync_interval", and "tls.cert" for
	// cert in the block tls. The names of the flag and the environment variable are derived from
	// it.
	Path  string
	Group string
	// Usage is one line of documentation. It does not contain the default.
	Usage string
	// NotInFile is true for a setting that applies to one start and must not be stored in the file.
	NotInFile bool

	value value
}

// EnvPrefix is the prefix of the names of all environment variables.
const EnvPrefix = "QUEUED_"

// Flag returns the name of the setting's flag, without the leading dashes.
func (s *Setting) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.Path) }

// Env returns the name of the setting's environment variable.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Path, ".", "_"))
}

// Value returns the setting's current value in the form that the environment variable has.
func (s *Setting) Value() string { return s.value.get() }

// Kind returns the name of the value's type: text, list, map, choice, bool, number, duration, size,
// space or memory.
func (s *Setting) Kind() string { return string(s.value.kind) }

// Choices returns the values that the setting accepts if its kind is choice.
func (s *Setting) Choices() []string { return s.value.choices }

// These are the groups of settings, in the order of the help and the documentation.
const (
	groupListen  = "Listeners"
	groupData    = "Data"
	groupAccess  = "Access"
	groupCluster = "Cluster"
	groupQueue   = "Queue defaults"
	groupLimits  = "Limits"
	groupLog     = "Log"
)

// Groups returns the groups of settings, in the order of the help and the documentation.
func Groups() []string {
	return []string{groupListen, groupData, groupAccess, groupCluster, groupQueue, groupLimits, groupLog}
}

// These limit the values of settings. A value beyond them is probably a mistake.
const (
	longest       = 10 * 366 * day
	payloadMax    = 12 << 20 // bytes; must fit into a call of 16 MiB
	batchMax      = 1_000
	attemptsMax   = 1_000_000
	waitMax       = time.Minute
	queuesMax     = 10_000_000
	windowsMax    = 1 << 26
	cacheBytesMax = 1 << 40
	keyFiltersMax = 1 << 40
	errorBytesMax = 64 << 10

	markPercentMax = 50
	markBytesMax   = 1 << 40
)

// sizeOf returns the value for the size of a part of the stores. The default depends on the memory
// limit.
func sizeOf(c *Config, path string) value {
	named := c.Node.Stores.Named()
	s := named[slices.IndexFunc(named, func(s memory.NamedSize) bool { return s.Path == path })]
	return auto(s.At, size(s.At, uint64(s.Least), uint64(s.Most)))
}

// Table returns all settings. Their values are fields of c, which contains the defaults.
func Table(c *Config) []*Setting {
	n, own := &c.Node, &c.Node.Cluster
	return []*Setting{
		{Path: "listen", Group: groupListen, value: list(&n.Listen), Usage: "addresses for gRPC clients: host:port or unix:/path; separate several with commas, or repeat the flag"},
		{Path: "http", Group: groupListen, value: text(&n.HTTP), Usage: `address for REST clients: host:port; "" disables it`},
		{Path: "admin", Group: groupListen, value: text(&n.Admin), Usage: `address of the admin service, probes, metrics and profiles: host:port; "" disables it`},
		{Path: "ui", Group: groupListen, value: boolean(&n.UI), Usage: "serve the web page for operators at /ui/ of the admin listener"},
		{Path: "allowed_hosts", Group: groupListen, value: optional(list(&n.AllowedHosts), func() { n.AllowedHosts = nil }), Usage: "additional host names, such as a proxy's, that REST and admin requests may use and whose pages may send requests; separate several with commas, or repeat the flag; * allows every name"},
		{Path: "insecure", Group: groupListen, value: boolean(&n.Insecure), Usage: "allow listening beyond loopback without TLS or authentication"},
		{Path: "busy_poll", Group: groupListen, value: boolean(&n.BusyPoll), Usage: "poll gRPC connections without TLS briefly before sleeping, if GOMAXPROCS is 1 on several CPUs: this shortens latencies and costs idle CPU time"},
		{Path: "address_file", Group: groupListen, value: text(&c.AddressFile), Usage: "write the pid, the addresses in use and all settings to this file as JSON once the server is serving"},

		{Path: "data", Group: groupData, value: text(&n.DataDir), Usage: "data folder, created if missing; only one server may use it at a time"},
		{Path: "shards", Group: groupData, value: number(&n.Shards, 1, shard.ShardsMax), Usage: "number of shards, which work in parallel; fixed when the data folder is created"},
		{
			Path: "durability", Group: groupData, Usage: "when the server acknowledges: sync, after an fsync; interval, after the write, with an fsync every sync interval; none, after the write, without fsyncs",
			value: choice(&n.Durability, []string{"sync", "interval", "none"}, []storage.Durability{storage.Sync, storage.Interval, storage.None}),
		},
		{Path: "sync_interval", Group: groupData, value: duration(&n.SyncInterval, time.Millisecond, time.Minute), Usage: "interval between fsyncs with durability interval"},
		{Path: "stall_max", Group: groupData, value: duration(&n.StallMax, time.Second, time.Hour), Usage: "how long a commit may take before the server reports that it is not ready"},
		{Path: "disk_low", Group: groupData, value: mark(&n.DiskLow), Usage: "refuse new tasks and large results while the data folder's file system has less free space: a size up to 1TiB, a percentage up to 50%, or 0B for off; auto is 5%, but at most 4GiB"},
		{Path: "disk_critical", Group: groupData, value: mark(&n.DiskCritical), Usage: "refuse all changes, but serve reads, while the file system has less free space: values as for disk-low, at most disk-low; auto is half of disk-low"},

		{Path: "storage.memtable_size", Group: groupData, value: sizeOf(c, "storage.memtable_size"), Usage: "size of a memtable; each shard has up to four; auto is 64MiB divided by the number of shards, or less if the memory bound is small. A small disk also lowers it"},
		{Path: "storage.block_cache_size", Group: groupData, value: sizeOf(c, "storage.block_cache_size"), Usage: "size of the cache of table blocks, shared by all shards; auto is 32MiB, or less if the memory bound is small"},
		{Path: "commit.group", Group: groupData, value: unless(&n.Commit.Alone), Usage: "put all commands that wait at a shard into one commit; false commits each command separately, to measure the benefit of group commit. Concurrent commits may still share an fsync. In a cluster, use cluster.coalesce"},
		{Path: "commit.tasks_max", Group: groupData, value: number(&n.Commit.TasksMax, 1, node.CommitTasksMaxMax), Usage: "approximate maximum of tasks and settlements in one commit; a command is never divided"},
		{Path: "commit.bytes_max", Group: groupData, value: size(&n.Commit.BytesMax, node.CommitBytesMaxMin, node.CommitBytesMaxMax), Usage: "approximate maximum of payload bytes of new tasks in one commit; a command is never divided"},

		{Path: "auth", Group: groupAccess, value: choice(&n.Auth, []string{"on", "off"}, []bool{true, false}), Usage: "whether calls need an access token; off makes every caller an operator"},
		{Path: "new_admin_token", Group: groupAccess, value: boolean(&n.NewAdminToken), NotInFile: true, Usage: "create a new operator token in DATA/admin.token and revoke the previous one"},
		{Path: "metrics.auth", Group: groupAccess, value: boolean(&n.Metrics.Auth), Usage: "require an operator's token for /metrics, as for /audit and /debug/; needs auth"},
		{Path: "metrics.tenants", Group: groupAccess, value: boolean(&n.Metrics.Tenants), Usage: "show the figures of each queue at /metrics, with the names of its tenant and queue; false shows the sums over all queues"},
		{Path: "tls.cert", Group: groupAccess, value: text(&n.TLS.CertFile), Usage: "PEM file of the server's certificate and its chain; read again when it changes"},
		{Path: "tls.key", Group: groupAccess, value: text(&n.TLS.KeyFile), Usage: "PEM file of the certificate's key"},
		{Path: "tls.client_ca", Group: groupAccess, value: text(&n.TLS.ClientCAFile), Usage: "PEM file of the authorities that must sign client certificates; turns mTLS on"},

		{Path: "cluster.node", Group: groupCluster, value: text(&own.Node), Usage: "this server's id in a cluster, which turns clustering on: 1 to 32 of a-z, 0-9 and -; fixed when the data folder is created"},
		{Path: "cluster.listen", Group: groupCluster, value: text(&own.Listen), Usage: "address for the other nodes: host:port"},
		{Path: "cluster.advertise", Group: groupCluster, value: text(&own.Advertise), Usage: "address that the other nodes dial to reach this one: host:port; empty for the listener's address"},
		{Path: "cluster.peers", Group: groupCluster, value: pairs(&own.Peers), Usage: "addresses of the nodes: NODE=HOST:PORT, separated by commas; without join, the first start creates a cluster of exactly these nodes, which must include this one"},
		{Path: "cluster.join", Group: groupCluster, value: optional(list(&own.Join), func() { own.Join = nil }), Usage: "at the first start, ask the cluster of these nodes for membership: host:port; separate several with commas, or repeat the flag"},
		{Path: "cluster.certs", Group: groupCluster, value: text(&own.CertsDir), Usage: "folder with this node's certificate for the other nodes, as 'queued cluster init' creates it: ca.crt, tls.crt and tls.key; read again when they change"},
		{Path: "cluster.election_timeout", Group: groupCluster, value: duration(&own.ElectionTimeout, cluster.ElectionTimeoutMin, cluster.ElectionTimeoutMax), Usage: "how long a candidate waits for votes, and the default of heartbeat_timeout; must be the same on all nodes"},
		{Path: "cluster.heartbeat_timeout", Group: groupCluster, value: auto(&own.HeartbeatTimeout, duration(&own.HeartbeatTimeout, cluster.HeartbeatTimeoutMin, cluster.ElectionTimeoutMax)), Usage: "how long a follower waits for the leader before it stands for election; auto is election_timeout, which it may not exceed. A leader sends a heartbeat after a tenth to a fifth of it. Must be the same on all nodes"},
		{Path: "cluster.leader_lease", Group: groupCluster, value: auto(&own.LeaderLease, duration(&own.LeaderLease, cluster.LeaderLeaseMin, cluster.ElectionTimeoutMax)), Usage: "how long a leader that reaches no majority continues to lead; may not exceed heartbeat_timeout; auto is half of election_timeout, but at most heartbeat_timeout"},
		{Path: "cluster.append_entries_max", Group: groupCluster, value: number(&own.AppendEntriesMax, 1, cluster.AppendEntriesMaxMax), Usage: "maximum of log entries in one message to a follower, and in one write to the log"},
		{Path: "cluster.messages_in_flight", Group: groupCluster, value: number(&own.MessagesInFlight, 1, cluster.MessagesInFlightMax), Usage: "maximum of concurrent messages with entries to one follower"},
		{Path: "cluster.log_memtable_size", Group: groupCluster, value: sizeOf(c, "cluster.log_memtable_size"), Usage: "size of a memtable of the Raft logs; a node has up to two; auto is 128MiB, or less if the memory bound is small"},
		{Path: "cluster.coalesce", Group: groupCluster, value: unless(&own.Alone), Usage: "put all waiting commands into one log entry; false makes each command a separate entry, to measure the benefit"},
		{Path: "cluster.clock_skew_max", Group: groupCluster, value: duration(&own.ClockSkewMax, 0, cluster.ClockSkewMaxMax), Usage: "a node leads only if its clock differs by at most this from the median of the voters' clocks; it also determines the lease grace after a failover; 0 turns both off"},

		{Path: "queue.lease", Group: groupQueue, value: durationMs(&n.Queue.LeaseMs, time.Millisecond, longest), Usage: "duration of a lease"},
		{Path: "queue.max_attempts", Group: groupQueue, value: number(&n.Queue.MaxAttempts, 1, attemptsMax), Usage: "number of failed attempts after which a task is dead"},
		{Path: "queue.backoff_initial", Group: groupQueue, value: durationMs(&n.Queue.Backoff.InitialMs, time.Millisecond, longest), Usage: "wait before the second attempt"},
		{Path: "queue.backoff_max", Group: groupQueue, value: durationMs(&n.Queue.Backoff.MaxMs, time.Millisecond, longest), Usage: "longest wait before an attempt"},
		{Path: "queue.backoff_multiplier_percent", Group: groupQueue, value: number(&n.Queue.Backoff.MultiplierPercent, 100, 1_000), Usage: "growth of the wait with each further attempt, in percent: 100 keeps it constant, 200 doubles it"},
		{Path: "queue.backoff_jitter_percent", Group: groupQueue, value: number(&n.Queue.Backoff.JitterPercent, 1, 100), Usage: "maximum random reduction of a wait, in percent, so that tasks that failed together do not return together"},
		{Path: "queue.idle_max", Group: groupQueue, value: durationMs(&n.Queue.IdleMs, time.Second, longest), Usage: "how long an empty queue that was never configured is kept after its last use"},
		{Path: "queue.key_window", Group: groupQueue, value: durationMs(&n.Queue.KeyWindowMs, time.Second, longest), Usage: "how long an idempotency key is remembered"},

		{Path: "memory", Group: groupLimits, value: memorySize(&n.Memory), Usage: "bound of the process's memory: at least 180MiB, or 1% to 90% of the memory of its cgroup or host. Caches, windows, inboxes, connections and streams get shares of it"},
		{Path: "limits.payload_max", Group: groupLimits, value: size(&n.Limits.PayloadBytesMax, 1, payloadMax), Usage: "largest payload of a task"},
		{Path: "limits.batch_max", Group: groupLimits, value: number(&n.Limits.BatchMax, 1, batchMax), Usage: "maximum of tasks or settlements in one call"},
		{Path: "limits.lease_max", Group: groupLimits, value: durationMs(&n.Limits.LeaseMsMax, time.Millisecond, longest), Usage: "longest lease that a call may request"},
		{Path: "limits.delay_max", Group: groupLimits, value: durationMs(&n.Limits.DelayMsMax, time.Millisecond, longest), Usage: "longest delay that a call may request"},
		{Path: "limits.attempts_max", Group: groupLimits, value: number(&n.Limits.AttemptsMax, 1, attemptsMax), Usage: "maximum of attempts that a call may request"},
		{Path: "limits.wait_max", Group: groupLimits, value: durationMs(&n.Limits.WaitMsMax, time.Millisecond, waitMax), Usage: "longest wait of one claim"},
		{Path: "limits.claim_queues_max", Group: groupLimits, value: number(&n.Limits.QueuesMax, 1, batchMax), Usage: "maximum of queues in one claim"},
		{Path: "limits.error_max", Group: groupLimits, value: size(&n.Limits.ErrorBytesMax, 1, errorBytesMax), Usage: "longest error text of a failure"},
		{Path: "limits.result_max", Group: groupLimits, value: size(&n.Limits.ResultBytesMax, 1, payloadMax), Usage: "largest result of a task"},
		{Path: "limits.ttl_max", Group: groupLimits, value: durationMs(&n.Limits.TTLMsMax, time.Millisecond, longest), Usage: "longest time to live that a call may request"},
		{Path: "limits.result_retention_max", Group: groupLimits, value: durationMs(&n.Limits.RetentionMsMax, time.Millisecond, longest), Usage: "longest retention of results that a call may request"},
		{Path: "limits.queues_max", Group: groupLimits, value: number(&n.Queue.Queues, 1, queuesMax), Usage: "maximum of queues per shard; the default is less if the memory bound is small"},
		{Path: "limits.tenant_queues_max", Group: groupLimits, value: number(&n.Queue.QueuesPerTenant, 1, queuesMax), Usage: "maximum of queues of one tenant per shard"},
		{Path: "limits.tenant_recurring_max", Group: groupLimits, value: number(&n.Queue.RecurringPerTenant, 1, queuesMax), Usage: "maximum of recurring tasks of one tenant per shard"},
		{Path: "limits.lane_window_max", Group: groupLimits, value: number(&n.Queue.WindowTasks, 1, windowsMax), Usage: "maximum of tasks of one queue and priority that each shard keeps in memory"},
		{Path: "limits.windows_max", Group: groupLimits, value: number(&n.Queue.WindowsTasks, 1, windowsMax), Usage: "maximum of tasks that all shards together keep in memory; the default is less if the memory bound is small"},
		{Path: "limits.cache_max", Group: groupLimits, value: size(&n.Queue.CacheBytesMax, 1, cacheBytesMax), Usage: "maximum of payload bytes that all shards together keep in memory; the default is less if the memory bound is small"},
		{Path: "limits.key_filters_max", Group: groupLimits, value: size(&n.KeyFilterBytesMax, 1, keyFiltersMax), Usage: "maximum size of the filters that recognize new idempotency keys, for all shards together: 2 bytes per key. Keys beyond that are looked up in the store, and all keys are if this is less than 128KiB; the default is less if the memory bound is small"},

		{Path: "log.level", Group: groupLog, value: choice(&c.LogLevel, []string{"debug", "info", "warn", "error"}, []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}), Usage: "minimum level of logged lines"},
		{Path: "log.format", Group: groupLog, value: choice(&c.LogFormat, []string{"text", "json"}, []LogFormat{LogText, LogJSON}), Usage: "format of log lines"},
	}
}
