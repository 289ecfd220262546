package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// workloadTable has the attributes of a workload. Those that others depend on come first.
var workloadTable = slices.Concat(driverTable, loadTable)

// driverTable has the attributes of the connection between load and server.
var driverTable = table[Workload]{
	choice(func(w *Workload) *string { return &w.Driver }, hclfile.ChoiceSpec{
		OneOf: []string{"stream", "unary", "rest", DriverK6, DriverEmbedded, DriverNull, DriverProgram}, Required: true,
	}, attribute[Workload]{
		name: "driver", label: "driver",
		doc: "how load reaches the server: `\"stream\"` (gRPC streams), `\"unary\"` (gRPC calls of one batch each), `\"rest\"` (REST requests of one batch each, with one connection for each concurrent request), `\"k6\"` (a k6 script; see [below](#load-from-a-k6-script)), `\"embedded\"` (streams in memory; with `topology \"embedded\"`), `\"null\"` (no server: each call is answered immediately; with `topology \"none\"`), `\"program\"` (through a driver program; with a `target`)",
	}),
	{
		name: "script", label: "k6 script", shownDefault: "required with `k6`", required: true,
		doc:   "the script that k6 runs, of at most 1 MiB: a path relative to the file that contains the attribute; only with `k6`",
		read:  func(b *hclfile.Block, w *Workload) { w.Script = readScript(b, w.Driver) },
		value: func(w *Workload) string { return w.Script.Path },
	},
}

// loadTable has the other attributes of a workload.
var loadTable = table[Workload]{
	integer(func(w *Workload) *int { return &w.Procs }, hclfile.IntSpec{Min: 1, Max: ProcsMax}, attribute[Workload]{
		name: "procs", label: "generator GOMAXPROCS", shownDefault: "the Go runtime's default",
		doc: "{}: the load generator's GOMAXPROCS, the same in all workloads. On a shared host, a fixed part for the server and for the generator prevents that they compete for the same cores",
	}),
	integer(func(w *Workload) *int { return &w.Connections }, hclfile.IntSpec{Min: 1, Max: 1024, Default: 1}, attribute[Workload]{
		name: "connections", label: "connections", unset: true,
		doc: "{}; producers and workers are spread over them; a server takes 1,024 sessions on each connection: one for the producers and one for the workers of each tenant",
	}),
	integer(func(w *Workload) *int { return &w.Tenants }, hclfile.IntSpec{Min: 1, Max: tenantsMax, Default: 1}, attribute[Workload]{
		name: "tenants", label: "tenants", value: func(w *Workload) string { return strconv.Itoa(w.Tenants) },
		doc: "{} in all workloads together; no two workloads share a tenant",
	}),
	integer(func(w *Workload) *int { return &w.Queues }, hclfile.IntSpec{Min: 1, Max: queuesMax, Default: 1}, attribute[Workload]{
		name: "queues", label: "queues per tenant", value: func(w *Workload) string { return strconv.Itoa(w.QueuesOfTenant()) },
		doc: "{}, per tenant",
	}),
	boolean(func(w *Workload) *bool { return &w.QueuePerWorker }, attribute[Workload]{
		name: "queue_per_worker", shownDefault: "`false`: the workers of a tenant share its queues",
		doc: "{}: each worker slot claims from its own queue, which no other slot uses; producers use all of them. Each tenant must have the same number of slots. Instead of `queues`, and not with `k6`",
		rows: func(w *Workload) []Row {
			if !w.QueuePerWorker {
				return nil
			}
			return []Row{{"a queue for each worker slot", "queue_per_worker", "true"}}
		},
	}),
	call(func(w *Workload) *Think { return &w.Think }, thinkCalls, `fixed("1ms") or exponential("1ms")`, attribute[Workload]{
		name: "think",
		doc:  "the time that a worker takes for the tasks of a claim before it completes them: `fixed(time)`, `uniform(min, max)` or `exponential(mean)`, which is limited to ten times its mean. Settle latency and cycle latency include it. The lease must be at least twice as long. Not with `k6`",
		rows: func(w *Workload) []Row {
			if w.Think.Kind == "" {
				return nil
			}
			return []Row{{Label: "workers think", Value: w.Think.String()}}
		},
		words: func(w *Workload) string {
			return unless(w.Think.Kind == "", "workers think for %s before they complete", w.Think)
		},
	}),
	side(func(w *Workload) *int { return &w.Producers }, hclfile.IntSpec{Why: "with arrivals = none() no task is sent"}, attribute[Workload]{
		name: "producers", label: "producers", doc: "{}; each has one call in flight. 0: see [one role](#one-role)",
	}),
	side(func(w *Workload) *int { return &w.Workers }, hclfile.IntSpec{Max: sideMax}, attribute[Workload]{
		name: "workers", label: "worker slots", doc: "{} worker slots; each claims up to a batch and completes it in one call. 0: see [one role](#one-role)",
	}),
	integer(func(w *Workload) *int { return &w.Batch }, hclfile.IntSpec{Min: 1, Max: batchMax, Default: 1}, attribute[Workload]{
		name: "batch", label: "tasks per call", value: func(w *Workload) string { return strconv.Itoa(w.Batch) }, doc: "{} tasks per call",
	}),
	integer(func(w *Workload) *int { return &w.ProducerBatch }, hclfile.IntSpec{Min: 1, Max: batchMax}, attribute[Workload]{
		name: "producer_batch", label: "tasks per enqueue call", shownDefault: "`batch`", doc: "{} tasks per enqueue. Not with `k6`",
	}),
	integer(func(w *Workload) *int { return &w.WorkerBatch }, hclfile.IntSpec{Min: 1, Max: batchMax}, attribute[Workload]{
		name: "worker_batch", label: "tasks per claim", shownDefault: "`batch`", doc: "{}: the maximum size of a claim and its completion. Not with `k6`",
	}),
	{
		name: "arrivals", doc: "when tasks are sent", shownDefault: "`closed()`",
		rows: func(w *Workload) []Row { return w.Arrivals.rows() },
	},
	boolean(func(w *Workload) *bool { return &w.Combined }, attribute[Workload]{
		name:  "combined",
		doc:   "{}: a worker completes the tasks of a claim in the call of its next claim, one call instead of two. The answer to that claim has the outcome, at most 100 ms later than a separate call; only with `unary` and `rest`",
		words: func(w *Workload) string { return unless(!w.Combined, "completions with the next claim") },
	}),
	{
		name: "reads", shownDefault: "0",
		doc:  "0 to below 1: the share of reads of single tasks among all enqueues and reads; or the shares of several kinds of reads, as in `[get(0.2), list(0.01)]`; see [reads](#reads)",
		read: func(b *hclfile.Block, w *Workload) { w.Reads = readShares(b) },
		words: func(w *Workload) string {
			return unless(!w.ReadsTasks(), "%s for each task (reads = %v)", w.Reads.perTaskWords(), w.Reads)
		},
	},
	call(func(w *Workload) *Keys { return &w.Keys }, keysCalls, "uniform() or zipf(1.2)", attribute[Workload]{
		name: "keys", doc: "which queue a call goes to", shownDefault: "`round_robin()`",
		rows: func(w *Workload) []Row {
			if w.Keys.IsZero() {
				return nil
			}
			return []Row{{Label: "queues are chosen", Value: w.Keys.Kind}, {Label: "skew of that", Value: unlessZero(w.Keys.Skew)}}
		},
		words: func(w *Workload) string { return unless(w.Keys.Kind == KeysRoundRobin, "keys %s", w.Keys) },
	}),
	call(func(w *Workload) *Priority { return &w.Priority }, priorityCalls, "uniform(0, 9) or share(9, 0.1)", attribute[Workload]{
		name: "priority", doc: "a distribution of priorities, 0 to 9; see [priorities](#priorities)", shownDefault: "0 for all",
		words: func(w *Workload) string { return unless(w.Priority.IsZero(), "priority %s", w.Priority) },
	}),
	share(func(w *Workload) *float64 { return &w.Fail }, "the deliveries are failed", attribute[Workload]{
		name: "fail", doc: "0 to below 1: the share of the deliveries that workers fail instead of completing them; see [failures](#failures)",
		problem: func(w *Workload) string {
			return unless(w.Fail >= 0 && w.Fail < 1, " is %v; it must be from 0 to below 1", w.Fail)
		},
		words: func(w *Workload) string {
			return unless(!w.FailsTasks(), "%s %% of the deliveries are failed and retried after %s, up to attempt %d",
				render.Digits(100*w.Fail, 3), hclfile.FormatDuration(w.Backoff), w.MaxAttempts)
		},
	}),
	integer(func(w *Workload) *int { return &w.MaxAttempts }, hclfile.IntSpec{Min: 1, Max: attemptsMax, Default: maxAttemptsDefault}, attribute[Workload]{
		name: "max_attempts", unset: true, doc: "{}: the number of failed attempts after which a task is dead; with `fail`",
	}),
	durationAttr(func(w *Workload) *time.Duration { return &w.Backoff }, hclfile.DurationSpec{Min: time.Millisecond, Max: time.Minute, Default: retryBackoffDefault}, attribute[Workload]{
		name: "backoff", doc: "{}: the time until a failed task is ready again; with `fail`",
	}),
	call(func(w *Workload) *Delay { return &w.Delay }, delayCalls, delayExample, attribute[Workload]{
		name: "delay", doc: "`share(time, part)`: a fraction of the tasks, 0 to 1, is ready only after this time, 1ms to 30s; see [delays](#delays)",
		words: func(w *Workload) string { return unless(w.Delay.IsZero(), "delay %s", w.Delay) },
	}),
	call(func(w *Workload) *Results { return &w.Result }, resultCalls, resultExample, attribute[Workload]{
		name: "result", doc: "`share(size, part)`: a fraction of the tasks, 0 to 1, is completed with a result of 32 bytes to 256 KiB; see [results](#results)",
		words: func(w *Workload) string { return unless(w.Result.IsZero(), "result %s", w.Result) },
	}),
	share(func(w *Workload) *float64 { return &w.Extend }, "the leases are extended", attribute[Workload]{
		name: "extend", doc: "{}: the share of the leases that workers extend once before they settle the task; see [extensions](#extensions)",
		words: func(w *Workload) string {
			return unless(!w.ExtendsLeases(), "%s %% of the leases are extended once", render.Digits(100*w.Extend, 3))
		},
	}),
	share(func(w *Workload) *float64 { return &w.Key }, "the tasks are enqueued again with the same key", attribute[Workload]{
		name: "key", doc: "{}: the share of the tasks that have an idempotency key and are enqueued again under it; see [repeated keys](#repeated-keys)",
		words: func(w *Workload) string {
			return unless(!w.RepeatsKeys(), "%s %% of the tasks are enqueued again under the same idempotency key", render.Digits(100*w.Key, 3))
		},
	}),
	integer(func(w *Workload) *int { return &w.Headers }, hclfile.IntSpec{Max: headersMax}, attribute[Workload]{
		name: "headers", shownDefault: "0", doc: "0 to 32: the number of headers of each task; see [headers](#headers)",
		words: func(w *Workload) string {
			return unless(!w.HasHeaders(), "%s for each task", render.Plural(w.Headers, "header"))
		},
	}),
	boolean(func(w *Workload) *bool { return &w.FinalTasks }, attribute[Workload]{
		name: "final_tasks", doc: "{}: each call of a producer enqueues a batch: its first task is the final task, which waits until the others, its members, are completed; see [final tasks](#final-tasks)",
		words: func(w *Workload) string {
			return unless(!w.FinalTasks, "final tasks, each with %s", render.Plural(w.EnqueueBatch()-1, "member"))
		},
	}),
	share(func(w *Workload) *float64 { return &w.Cancel }, "the leased tasks are cancelled", attribute[Workload]{
		name: "cancel", doc: "0 to below 1: the share of the leased tasks that are cancelled while a worker holds them; see [cancellations](#cancellations)",
		problem: func(w *Workload) string {
			return unless(w.Cancel >= 0 && w.Cancel < 1, " is %v; it must be from 0 to below 1", w.Cancel)
		},
		words: func(w *Workload) string {
			return unless(!w.CancelsTasks(), "%s %% of the leased tasks are cancelled", render.Digits(100*w.Cancel, 3))
		},
	}),
	call(func(w *Workload) *Unique { return &w.Unique }, uniqueCalls, uniqueExample, attribute[Workload]{
		name: "unique", doc: "`until_finished(keys)`: the tasks of each queue share this number of unique keys, 1 to 1,000,000, and a task holds its key until it is finished; see [unique keys](#unique-keys)",
		words: func(w *Workload) string { return unless(!w.HasUniqueKeys(), "unique keys %s", w.Unique) },
	}),
	integer(func(w *Workload) *int { return &w.Seed }, hclfile.IntSpec{Min: 1, Max: math.MaxInt32, Default: seedDefault}, attribute[Workload]{
		name: "seed", label: "seed", unset: true, doc: "{}: the seed for random sizes and queues. Two runs with the same seed send the same tasks",
		words: func(w *Workload) string { return unless(w.Seed <= 0, "seed %d", w.Seed) },
	}),
	integer(func(w *Workload) *int { return &w.InFlight }, hclfile.IntSpec{Min: 1, Max: inFlightMax}, attribute[Workload]{
		name: "in_flight", label: "tasks in flight, at most", read: readInFlight,
		shownDefault: fmt.Sprintf("no bound for `closed()`, %d for an open load", inFlightDefault),
		doc:          "the limit on tasks that are sent and not completed, {}. At the limit the producers of a closed load wait, and an open load drops the tasks whose send time has come. A closed load of the driver `k6` has no limit",
		words: func(w *Workload) string {
			return unless(w.InFlight <= 0, "at most %s in flight", render.Count(w.InFlight))
		},
	}),
	call(func(w *Workload) *Payload { return &w.Payload }, payloadCalls, "fixed(64) or uniform(64, 256)", attribute[Workload]{
		name: "payload", shownDefault: "`fixed(64)`",
		doc:  "a distribution of sizes, 32 bytes to 1 MiB. The ledger needs 32 bytes of each payload for its header",
		rows: func(w *Workload) []Row { return []Row{{Label: "payload, bytes", Value: w.Payload.shown()}} },
	}),
	durationAttr(func(w *Workload) *time.Duration { return &w.Lease }, hclfile.DurationSpec{Min: time.Second, Max: time.Hour, Default: 30 * time.Second}, attribute[Workload]{
		name: "lease", doc: "{}",
	}),
	boolean(func(w *Workload) *bool { return &w.BusyPoll }, attribute[Workload]{
		name: "busy_poll", doc: "{}: the generator's gRPC connections also poll; only with `procs = 1`, and not with `rest`",
		read: func(b *hclfile.Block, w *Workload) { w.BusyPoll = readBusyPoll(b, w.Procs) },
	}),
	boolean(func(w *Workload) *bool { return &w.Idempotent }, attribute[Workload]{
		name: "idempotent", doc: "{}: the client gives each task a unique key, and enqueues the task again under that key if the outcome of the enqueue is unknown; only with `stream`",
	}),
}

// DriverRows returns the rows of pages about the driver, and LoadRows the other rows of the
// workload.
func (w *Workload) DriverRows() []Row { return driverTable.rows(w, w.path()) }

// LoadRows is documented at DriverRows.
func (w *Workload) LoadRows() []Row { return loadTable.rows(w, w.path()) }

func (w *Workload) path() string { return workloadPath + w.Name + "." }

// Words returns, for `prony explain`, the attributes that not every workload has.
func (w *Workload) Words() []string { return workloadTable.words(w) }

// BoundProblems returns a sentence for each value out of bounds in a workload that no parser has
// read. It checks the given attributes, or all without any.
func (w *Workload) BoundProblems(attributes ...string) []string {
	return workloadTable.problems(w, attributes)
}

// WorkloadInt returns an attribute of workloads that is a whole number.
func WorkloadInt(name string) Bounded[Workload, int] { return workloadTable.attribute(name).number }

// WorkloadDuration returns an attribute of workloads that is a duration.
func WorkloadDuration(name string) Bounded[Workload, time.Duration] {
	return workloadTable.attribute(name).duration
}

// unless formats a text, or returns "" if skip is true.
func unless(skip bool, format string, args ...any) string {
	if skip {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// unlessZero formats a number, or returns "" for 0.
func unlessZero(n float64) string { return unless(n == 0, "%s", strconv.FormatFloat(n, 'f', -1, 64)) }
