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

// Setting is one thing that can be configured.
type Setting struct {
	// Path is its name in the file: "sync_interval", or "tls.cert" for cert in the block tls. The flag and the
	// environment variable follow from it.
	Path  string
	Group string
	// Usage is one line on what it means, without its default.
	Usage string
	// NotInFile marks what is said to one start of a server and would be wrong to keep.
	NotInFile bool

	value value
}

// EnvPrefix begins the name of each environment variable.
const EnvPrefix = "QUEUED_"

// Flag is the setting's flag, without the dashes before it.
func (s *Setting) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.Path) }

// Env is the setting's environment variable.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Path, ".", "_"))
}

// Value is the setting's present value, as the file or the environment would say it.
func (s *Setting) Value() string { return s.value.get() }

// Kind names the sort of value: text, list, map, choice, bool, number, duration, size or space.
func (s *Setting) Kind() string { return string(s.value.kind) }

// Choices are the values that a setting of the kind choice may have.
func (s *Setting) Choices() []string { return s.value.choices }

// The groups of settings, in the order of help and documentation.
const (
	groupListen  = "Listeners"
	groupData    = "Data"
	groupAccess  = "Access"
	groupCluster = "Cluster"
	groupQueue   = "Queue defaults"
	groupLimits  = "Limits"
	groupLog     = "Log"
)

// Groups are the groups of settings, in the order of help and documentation.
func Groups() []string {
	return []string{groupListen, groupData, groupAccess, groupCluster, groupQueue, groupLimits, groupLog}
}

// Bounds of the settings: what is beyond them is taken for a mistake.
const (
	longest       = 10 * 366 * day
	payloadMax    = 12 << 20 // a call of 16 MiB must hold it
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

// sizeOf is the value of a size of a part of the stores, by its path. The default follows from the memory bound.
func sizeOf(c *Config, path string) value {
	named := c.Node.Stores.Named()
	s := named[slices.IndexFunc(named, func(s memory.NamedSize) bool { return s.Path == path })]
	return auto(s.At, size(s.At, uint64(s.Least), uint64(s.Most)))
}

// Table returns every setting, bound to the fields of c, which hold the defaults.
func Table(c *Config) []*Setting {
	n, own := &c.Node, &c.Node.Cluster
	return []*Setting{
		{Path: "listen", Group: groupListen, value: list(&n.Listen), Usage: "where clients connect with gRPC: host:port or unix:/path; several with commas, or the flag repeated"},
		{Path: "http", Group: groupListen, value: text(&n.HTTP), Usage: `where clients connect with REST: host:port; "" for none`},
		{Path: "admin", Group: groupListen, value: text(&n.Admin), Usage: `admin service, probes, metrics and profiles: host:port; "" for none`},
		{Path: "allowed_hosts", Group: groupListen, value: optional(list(&n.AllowedHosts), func() { n.AllowedHosts = nil }), Usage: "further names under which REST and admin requests may reach the server, and whose pages may send them, as a proxy has: names with commas, or the flag repeated; * for every name"},
		{Path: "insecure", Group: groupListen, value: boolean(&n.Insecure), Usage: "listen beyond loopback though TLS or authentication is off"},
		{Path: "busy_poll", Group: groupListen, value: boolean(&n.BusyPoll), Usage: "poll gRPC connections without TLS for a moment before sleeping, when GOMAXPROCS is 1 of several CPUs: short answers come faster, and idle time is spent"},
		{Path: "address_file", Group: groupListen, value: text(&c.AddressFile), Usage: "write the pid, the addresses in use and all settings to this file, as JSON, once serving"},

		{Path: "data", Group: groupData, value: text(&n.DataDir), Usage: "data folder, made if need be; one server at a time holds it"},
		{Path: "shards", Group: groupData, value: number(&n.Shards, 1, shard.ShardsMax), Usage: "how many shards work side by side; fixed when the data folder is made"},
		{
			Path: "durability", Group: groupData, Usage: "when the server acknowledges: sync, after an fsync; interval, with an fsync every sync interval; none, after the write reached the system",
			value: choice(&n.Durability, []string{"sync", "interval", "none"}, []storage.Durability{storage.Sync, storage.Interval, storage.None}),
		},
		{Path: "sync_interval", Group: groupData, value: duration(&n.SyncInterval, time.Millisecond, time.Minute), Usage: "how often to fsync with durability interval"},
		{Path: "stall_max", Group: groupData, value: duration(&n.StallMax, time.Second, time.Hour), Usage: "how long a commit may be under way before the server says that it is not ready"},
		{Path: "disk_low", Group: groupData, value: mark(&n.DiskLow), Usage: "the server refuses new tasks and large results while the data folder's file system has less free space: a size up to 1TiB, a percentage up to 50%, or 0B for off; auto is 5%, and at most 4GiB"},
		{Path: "disk_critical", Group: groupData, value: mark(&n.DiskCritical), Usage: "the server refuses all changes and still serves reads while the file system has less free space: values as for disk-low, and at most disk-low; auto is half of disk-low"},

		{Path: "storage.memtable_size", Group: groupData, value: sizeOf(c, "storage.memtable_size"), Usage: "size of a memtable; each shard has up to four; auto is 64MiB divided by the shards, and less if the memory bound is small. A small disk also lowers it"},
		{Path: "storage.block_cache_size", Group: groupData, value: sizeOf(c, "storage.block_cache_size"), Usage: "bytes of blocks of tables that all shards together keep in memory; auto is 32MiB, and less if the memory bound is small"},
		{Path: "commit.group", Group: groupData, value: unless(&n.Commit.Alone), Usage: "put all commands that wait at a shard into one commit; false makes each command a commit of its own, to measure what group commit gains. Commits that are under way may share an fsync. A cluster has cluster.coalesce instead"},
		{Path: "commit.tasks_max", Group: groupData, value: number(&n.Commit.TasksMax, 1, node.CommitTasksMaxMax), Usage: "about how many tasks and settlements one commit has; a command is never divided"},
		{Path: "commit.bytes_max", Group: groupData, value: size(&n.Commit.BytesMax, node.CommitBytesMaxMin, node.CommitBytesMaxMax), Usage: "about how many bytes of the payloads of new tasks one commit has; a command is never divided"},

		{Path: "auth", Group: groupAccess, value: choice(&n.Auth, []string{"on", "off"}, []bool{true, false}), Usage: "whether calls need an access token; off makes every caller an operator"},
		{Path: "new_admin_token", Group: groupAccess, value: boolean(&n.NewAdminToken), NotInFile: true, Usage: "make a new operator token in DATA/admin.token; the one before is revoked"},
		{Path: "metrics.auth", Group: groupAccess, value: boolean(&n.Metrics.Auth), Usage: "require an operator's token at /metrics, as at /audit and /debug/; needs auth"},
		{Path: "metrics.tenants", Group: groupAccess, value: boolean(&n.Metrics.Tenants), Usage: "show the figures of each queue at /metrics, with the names of its tenant and queue; false shows the sums over all queues"},
		{Path: "tls.cert", Group: groupAccess, value: text(&n.TLS.CertFile), Usage: "PEM file of the server's certificate and its chain; read again when it changes"},
		{Path: "tls.key", Group: groupAccess, value: text(&n.TLS.KeyFile), Usage: "PEM file of the certificate's key"},
		{Path: "tls.client_ca", Group: groupAccess, value: text(&n.TLS.ClientCAFile), Usage: "PEM file of the authorities that client certificates must come from; turns mTLS on"},

		{Path: "cluster.node", Group: groupCluster, value: text(&own.Node), Usage: "this server's id in a cluster, which turns clustering on: 1 to 32 of a-z, 0-9 and -; fixed when the data folder is made"},
		{Path: "cluster.listen", Group: groupCluster, value: text(&own.Listen), Usage: "where the other nodes connect: host:port"},
		{Path: "cluster.advertise", Group: groupCluster, value: text(&own.Advertise), Usage: "the address at which other nodes reach this one: host:port; empty for the listener's own"},
		{Path: "cluster.peers", Group: groupCluster, value: pairs(&own.Peers), Usage: "where this node reaches each node, NODE=HOST:PORT with commas; without join, the first start makes a cluster of exactly these, this node among them"},
		{Path: "cluster.join", Group: groupCluster, value: optional(list(&own.Join), func() { own.Join = nil }), Usage: "at the first start, ask the cluster of these nodes for membership: host:port; several with commas, or the flag repeated"},
		{Path: "cluster.certs", Group: groupCluster, value: text(&own.CertsDir), Usage: "folder with the certificate that this node shows to the other nodes, as 'queued cluster init' makes it: ca.crt, tls.crt and tls.key; read again when they change"},
		{Path: "cluster.election_timeout", Group: groupCluster, value: duration(&own.ElectionTimeout, cluster.ElectionTimeoutMin, cluster.ElectionTimeoutMax), Usage: "how long a node hears nothing of a leader before it stands for election; the same on all nodes"},
		{Path: "cluster.heartbeat_timeout", Group: groupCluster, value: auto(&own.HeartbeatTimeout, duration(&own.HeartbeatTimeout, cluster.HeartbeatTimeoutMin, cluster.ElectionTimeoutMax)), Usage: "how long a node hears nothing of a leader before it stands for election, if that is to differ from how long it then waits for votes, which stays the election timeout; a leader sends a heartbeat after a tenth to a fifth of it. auto is the election timeout, the most that it may be; the same on all nodes"},
		{Path: "cluster.leader_lease", Group: groupCluster, value: auto(&own.LeaderLease, duration(&own.LeaderLease, cluster.LeaderLeaseMin, cluster.ElectionTimeoutMax)), Usage: "how long a leader that reaches no majority goes on leading: at most the heartbeat timeout; auto is half of the election timeout, and at most the heartbeat timeout"},
		{Path: "cluster.append_entries_max", Group: groupCluster, value: number(&own.AppendEntriesMax, 1, cluster.AppendEntriesMaxMax), Usage: "most entries of the log in one message to a follower, and in one write to the log"},
		{Path: "cluster.messages_in_flight", Group: groupCluster, value: number(&own.MessagesInFlight, 1, cluster.MessagesInFlightMax), Usage: "most messages with entries that are on their way to a follower at once"},
		{Path: "cluster.log_memtable_size", Group: groupCluster, value: sizeOf(c, "cluster.log_memtable_size"), Usage: "size of a memtable of the Raft logs; a node has up to two; auto is 128MiB, and less if the memory bound is small"},
		{Path: "cluster.coalesce", Group: groupCluster, value: unless(&own.Alone), Usage: "put all commands that wait into one entry of the log; false measures what that is worth"},
		{Path: "cluster.clock_skew_max", Group: groupCluster, value: duration(&own.ClockSkewMax, 0, cluster.ClockSkewMaxMax), Usage: "a node leads only if its clock differs by at most this from the median of the voters' clocks; it also determines the lease grace after a failover; 0 turns both off"},

		{Path: "queue.lease", Group: groupQueue, value: durationMs(&n.Queue.LeaseMs, time.Millisecond, longest), Usage: "how long a lease holds"},
		{Path: "queue.max_attempts", Group: groupQueue, value: number(&n.Queue.MaxAttempts, 1, attemptsMax), Usage: "after how many failed attempts a task is dead"},
		{Path: "queue.backoff_initial", Group: groupQueue, value: durationMs(&n.Queue.Backoff.InitialMs, time.Millisecond, longest), Usage: "wait before the second attempt"},
		{Path: "queue.backoff_max", Group: groupQueue, value: durationMs(&n.Queue.Backoff.MaxMs, time.Millisecond, longest), Usage: "longest wait before an attempt"},
		{Path: "queue.backoff_multiplier_percent", Group: groupQueue, value: number(&n.Queue.Backoff.MultiplierPercent, 100, 1_000), Usage: "how the wait grows with each further attempt: 100 keeps it, 200 doubles it"},
		{Path: "queue.backoff_jitter_percent", Group: groupQueue, value: number(&n.Queue.Backoff.JitterPercent, 1, 100), Usage: "up to how much of a wait is taken off at random, so that tasks that failed together do not return together"},
		{Path: "queue.idle_max", Group: groupQueue, value: durationMs(&n.Queue.IdleMs, time.Second, longest), Usage: "how long an empty queue that was never configured is kept after its last use"},
		{Path: "queue.key_window", Group: groupQueue, value: durationMs(&n.Queue.KeyWindowMs, time.Second, longest), Usage: "how long an idempotency key is remembered"},

		{Path: "memory", Group: groupLimits, value: memorySize(&n.Memory), Usage: "the bound on the process's memory: at least 180MiB, or 1% to 90% of the memory of its cgroup or host. Caches, windows, inboxes, connections and streams have shares of it"},
		{Path: "limits.payload_max", Group: groupLimits, value: size(&n.Limits.PayloadBytesMax, 1, payloadMax), Usage: "largest payload of a task"},
		{Path: "limits.batch_max", Group: groupLimits, value: number(&n.Limits.BatchMax, 1, batchMax), Usage: "most tasks or settlements in one call"},
		{Path: "limits.lease_max", Group: groupLimits, value: durationMs(&n.Limits.LeaseMsMax, time.Millisecond, longest), Usage: "longest lease that may be asked for"},
		{Path: "limits.delay_max", Group: groupLimits, value: durationMs(&n.Limits.DelayMsMax, time.Millisecond, longest), Usage: "longest delay that may be asked for"},
		{Path: "limits.attempts_max", Group: groupLimits, value: number(&n.Limits.AttemptsMax, 1, attemptsMax), Usage: "most attempts that may be asked for"},
		{Path: "limits.wait_max", Group: groupLimits, value: durationMs(&n.Limits.WaitMsMax, time.Millisecond, waitMax), Usage: "longest wait of one claim"},
		{Path: "limits.claim_queues_max", Group: groupLimits, value: number(&n.Limits.QueuesMax, 1, batchMax), Usage: "most queues in one claim"},
		{Path: "limits.error_max", Group: groupLimits, value: size(&n.Limits.ErrorBytesMax, 1, errorBytesMax), Usage: "longest error text that a failure carries"},
		{Path: "limits.result_max", Group: groupLimits, value: size(&n.Limits.ResultBytesMax, 1, payloadMax), Usage: "largest result of a task"},
		{Path: "limits.ttl_max", Group: groupLimits, value: durationMs(&n.Limits.TTLMsMax, time.Millisecond, longest), Usage: "longest time to live that may be asked for"},
		{Path: "limits.result_retention_max", Group: groupLimits, value: durationMs(&n.Limits.RetentionMsMax, time.Millisecond, longest), Usage: "longest retention of results that may be asked for"},
		{Path: "limits.queues_max", Group: groupLimits, value: number(&n.Queue.Queues, 1, queuesMax), Usage: "most queues that each shard holds; the default is less if the memory bound is small"},
		{Path: "limits.tenant_queues_max", Group: groupLimits, value: number(&n.Queue.QueuesPerTenant, 1, queuesMax), Usage: "most queues of one tenant that each shard holds"},
		{Path: "limits.lane_window_max", Group: groupLimits, value: number(&n.Queue.WindowTasks, 1, windowsMax), Usage: "most tasks of one queue and priority that each shard keeps in memory"},
		{Path: "limits.windows_max", Group: groupLimits, value: number(&n.Queue.WindowsTasks, 1, windowsMax), Usage: "most tasks that all shards together keep in memory; the default is less if the memory bound is small"},
		{Path: "limits.cache_max", Group: groupLimits, value: size(&n.Queue.CacheBytesMax, 1, cacheBytesMax), Usage: "most bytes of payloads that all shards together keep in memory; the default is less if the memory bound is small"},
		{Path: "limits.key_filters_max", Group: groupLimits, value: size(&n.KeyFilterBytesMax, 1, keyFiltersMax), Usage: "most bytes of the filters by which all shards together know that an idempotency key is new: 2 bytes a key. The store is read for keys beyond that, and for all keys if it is less than 128KiB; the default is less if the memory bound is small"},

		{Path: "log.level", Group: groupLog, value: choice(&c.LogLevel, []string{"debug", "info", "warn", "error"}, []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}), Usage: "how much is logged"},
		{Path: "log.format", Group: groupLog, value: choice(&c.LogFormat, []string{"text", "json"}, []LogFormat{LogText, LogJSON}), Usage: "how log lines are written"},
	}
}
