package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// WorkloadsMax is the largest number of workloads of a scenario.
const WorkloadsMax = 8

// Any reports whether is returns true for any of the workloads.
func Any(workloads []Workload, is func(Workload) bool) bool {
	return slices.ContainsFunc(workloads, is)
}

// Workload defines a load on the topology.
type Workload struct {
	Name string `json:"name"`
	// Driver is "stream", "unary", "rest", DriverK6, DriverEmbedded, DriverNull or DriverProgram.
	Driver string `json:"driver"`
	Script Script `json:"-"`              // of DriverK6
	Procs  int    `json:"procs,omitzero"` // GOMAXPROCS of the generator; 0: not set
	// BusyPoll makes its gRPC connections poll before their thread sleeps.
	BusyPoll bool `json:"busy_poll,omitzero"`
	// Connections is the number of client connections, which producers and workers share. It is 0
	// for DriverK6, whose script opens them.
	Connections int `json:"connections,omitzero"`
	Tenants     int `json:"tenants"`
	// FirstTenant is the number of its first tenant. Workloads do not share tenants.
	FirstTenant int `json:"first_tenant,omitempty"`
	Queues      int `json:"queues"` // per tenant
	// Producers is 0 with arrivals None, and if the workload has only workers.
	Producers int `json:"producers"`
	// Workers is the number of worker slots, each with one batch at a time. It is 0 if the workload
	// has only producers.
	Workers int     `json:"workers"`
	Batch   int     `json:"batch"` // per call; see EnqueueBatch and ClaimBatch
	Payload Payload `json:"payload"`
	Keys    Keys    `json:"keys,omitzero"`
	// Seed is the seed of the random payload sizes and choices of queues, which are the same for
	// equal seeds. It is 0 for DriverK6, which has no random choices.
	Seed     int      `json:"seed,omitzero"`
	Arrivals Arrivals `json:"arrivals"`
	// InFlight bounds the tasks that are sent and not completed. At the bound, an open load drops
	// tasks that become due, and the producers of a closed load wait. 0 means no bound, which only
	// a closed load can have.
	InFlight int           `json:"in_flight,omitzero"`
	Lease    time.Duration `json:"lease"`
	// Idempotent makes the client give each task a unique key, with which it repeats an enqueue of
	// unknown outcome.
	Idempotent bool `json:"idempotent,omitzero"`
	// Combined makes a worker complete the tasks of a claim in the call of its next claim. Only
	// "unary" and "rest" support it.
	Combined bool `json:"combined,omitzero"`
	// Reads has the shares of reads that accompany the tasks.
	Reads Reads `json:"reads,omitzero"`
	// Priority is the distribution of the tasks' priorities.
	Priority Priority `json:"priority,omitzero"`
	// Fail is the share of deliveries that workers fail, below 1. If it is above 0, MaxAttempts and
	// Backoff apply to all tasks: a task is dead after MaxAttempts failed attempts. Before that the
	// server delivers it again after Backoff, minus a random part that the server chooses.
	Fail        float64       `json:"fail,omitzero"`
	MaxAttempts int           `json:"max_attempts,omitzero"`
	Backoff     time.Duration `json:"backoff,omitzero"`

	// Delay is the share of tasks that are enqueued with a delay.
	Delay Delay `json:"delay,omitzero"`
	// Result is the share of tasks that are completed with a result, which the server stores for
	// ResultRetention.
	Result Results `json:"result,omitzero"`
	// Extend is the share of leases that workers extend by Lease, once, before they settle the
	// task.
	Extend float64 `json:"extend,omitzero"`
	// Key is the share of tasks that have an idempotency key and are enqueued a second time with
	// it.
	Key float64 `json:"key,omitzero"`
	// FinalTasks makes each enqueue call a batch: its first task is the final task, and the others
	// are its members, which it waits for.
	FinalTasks bool `json:"final_tasks,omitzero"`
	// Headers is the number of headers of each task.
	Headers int `json:"headers,omitzero"`
	// Cancel is the share of leased tasks that workers cancel, below 1.
	Cancel float64 `json:"cancel,omitzero"`
	// Unique is the set of unique keys that the tasks share.
	Unique Unique `json:"unique,omitzero"`

	// ProducerBatch and WorkerBatch are the numbers of tasks per call of one side; 0 means Batch.
	ProducerBatch int `json:"producer_batch,omitzero"`
	WorkerBatch   int `json:"worker_batch,omitzero"`
	// QueuePerWorker gives each worker slot a separate queue, from which only that slot claims; see
	// QueuesOfTenant.
	QueuePerWorker bool  `json:"queue_per_worker,omitzero"`
	Think          Think `json:"think,omitzero"` // between a worker's claim and its completion
}

// HeldMax returns the largest number of tasks that the producers and workers can hold at the same
// time, in unanswered calls and as claimed tasks.
func (w Workload) HeldMax() int { return w.Producers*w.EnqueueBatch() + w.Workers*w.ClaimBatch() }

// MarshalJSON writes durations as text, and the fields of the script at the level of the workload.
func (w Workload) MarshalJSON() ([]byte, error) { return json.Marshal(w.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Workload) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, w.stored()) }

func (w *Workload) stored() any {
	type plain Workload
	type script struct {
		Path   string `json:"script,omitempty"`
		SHA256 string `json:"script_sha256,omitempty"`
	}
	return &struct {
		*plain
		*script
		Lease   *duration `json:"lease"`
		Backoff *duration `json:"backoff,omitzero"`
	}{(*plain)(w), (*script)(&w.Script), (*duration)(&w.Lease), (*duration)(&w.Backoff)}
}

var workloadBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: workloadTable.names()},
	Label: "name", Example: `workload "main" { driver = "stream" ... }`, Required: true,
}

// readWorkloads reads each workload "NAME" { ... }. It numbers the tenants consecutively over all
// workloads, so that workloads do not share tenants. A window of 0 is unknown.
func readWorkloads(s *hclfile.Block, t Topology, window time.Duration) []Workload {
	var workloads []Workload
	seen := map[string]string{}
	tenants := 0
	blocks := s.Blocks("workload", workloadBlock)
	for i, b := range blocks {
		w := readWorkload(b)
		checkArrivals(b, w.Arrivals, window)
		checkDriver(b, w.Driver, t.Kind)
		if w.BusyPoll && t.TLS {
			b.AttrProblem("busy_poll", "busy_poll cannot be combined with topology.tls: connections with TLS are not polled", "remove one of the two")
		}
		checkK6(b, w, len(blocks))
		switch first, twice := seen[w.Name]; {
		case i == WorkloadsMax:
			b.Problem(fmt.Sprintf("a scenario has at most %d workloads", WorkloadsMax), "remove some")
			return workloads
		case twice && w.Name != "":
			b.LabelProblem(fmt.Sprintf("workload %q is defined twice", w.Name), "the first is at "+first+"; rename one of the two")
		case len(blocks) > 1 && w.Arrivals.Kind == None:
			b.AttrProblem("arrivals", "a workload with arrivals = none() must be the only one", "remove the workload")
		}
		seen[w.Name] = b.Where()
		w.FirstTenant = tenants
		tenants += w.Tenants
		workloads = append(workloads, w)
	}
	for _, b := range blocks[:min(1, len(blocks))] {
		if tenants > tenantsMax && len(blocks) > 1 {
			b.Problem(fmt.Sprintf("the workloads have %d tenants in total; the maximum is %d", tenants, tenantsMax), "lower tenants")
		}
	}
	checkProcs(blocks, workloads)
	checkReads(blocks, workloads)
	return workloads
}

// The drivers that need a specific topology.
const (
	DriverEmbedded = "embedded" // calls a server in its own process
	DriverNull     = "null"     // answers each call immediately, without a server
)

// DriverK6 is the driver that runs a script in a k6 process, which puts the load on the servers.
const DriverK6 = "k6"

// checkDriver refuses a driver that does not reach the servers of the topology. A kind or a driver
// of "" is unknown.
func checkDriver(b *hclfile.Block, driver, kind string) {
	if driver == "" || kind == "" {
		return
	}
	switch {
	case driver == DriverProgram && kind != ByProgram:
		b.AttrProblem("driver", `the driver "program" needs a target, but the scenario has none`, `replace the topology by a target, or use another driver`)
		return
	case kind == ByProgram && driver != DriverProgram:
		b.AttrProblem("driver", fmt.Sprintf("the driver %q does not reach a target", driver), `write driver = "program"`)
		return
	}
	for _, need := range []struct{ driver, kind string }{{DriverEmbedded, Embedded}, {DriverNull, NoTopology}} {
		switch {
		case driver == need.driver && kind != need.kind:
			b.AttrProblem("driver", fmt.Sprintf("the driver %q needs topology %q; it is %q", driver, need.kind, kind),
				fmt.Sprintf("write topology %q, or use another driver", need.kind))
			return
		case kind == need.kind && driver != need.driver:
			b.AttrProblem("driver", fmt.Sprintf("the driver %q does not reach topology %q", driver, kind),
				fmt.Sprintf("write driver = %q, or use another topology", need.driver))
			return
		}
	}
}

// tenantsMax bounds the tenants of all workloads together.
const tenantsMax = 1000

// checkProcs refuses different values of procs, because all workloads share one generator.
func checkProcs(blocks []*hclfile.Block, workloads []Workload) {
	for i, w := range workloads {
		if w.Procs != workloads[0].Procs {
			blocks[i].AttrProblem("procs", fmt.Sprintf("workload %q has procs = %d and workload %q has %d, but one generator drives both",
				w.Name, w.Procs, workloads[0].Name, workloads[0].Procs), "set it to the same value in all workloads, or in none")
		}
	}
}

// callBytesMax bounds the payloads and queue names that the client sends in one call.
// taskNameBytesMax is larger than the name of any queue of a workload.
const (
	callBytesMax     = 4 << 20
	taskNameBytesMax = 8
)

func readWorkload(b *hclfile.Block) Workload {
	w := Workload{Name: readName(b), Arrivals: readArrivals(b), Payload: defaultPayload, Keys: Keys{Kind: KeysRoundRobin}}
	workloadTable.read(b, &w)
	if w.Driver == DriverK6 {
		w.Connections, w.Seed = 0, 0
	}
	if w.BusyPoll && w.Driver == "rest" {
		b.AttrProblem("busy_poll", `connections of the driver "rest" can't poll`, "remove it, or use a gRPC driver")
	}
	if w.Idempotent && w.Driver != "" && w.Driver != "stream" && w.Driver != DriverK6 {
		b.AttrProblem("idempotent", fmt.Sprintf("the driver %q does not support keys", w.Driver), `remove it, or write driver = "stream"`)
	}
	for _, check := range []func(*hclfile.Block, *Workload){
		checkBatches, checkSlots, checkQueuePerWorker, checkSessions, checkKeys, checkThink, checkInFlight, checkCombined, checkReadsOf,
		checkPriorities, checkFailed, checkDelayed, checkResults, checkExtended, checkRepeated, checkUniqueOf, checkCancelled, checkHeaders, checkFinalTasks, checkSides, checkCallBytes,
	} {
		check(b, &w)
	}
	return w
}

// checkCombined checks combined. Completed tasks count as in flight until the next claim of their
// worker, so in_flight must exceed the tasks that all workers can hold. Otherwise no task could be
// sent, and the claims would wait forever.
func checkCombined(b *hclfile.Block, w *Workload) {
	switch {
	case !w.Combined:
	case w.Driver == "stream":
		b.AttrProblem("combined", `the driver "stream" sends completions without waiting for a claim`, `remove it, or write driver = "unary" or "rest"`)
	case w.Driver != "" && w.Driver != "unary" && w.Driver != "rest":
		b.AttrProblem("combined", fmt.Sprintf("the driver %q can't complete and claim in one call", w.Driver), `remove it, or write driver = "unary" or "rest"`)
	case w.InFlight > 0 && w.InFlight <= w.Workers*w.ClaimBatch():
		b.AttrProblem("in_flight", fmt.Sprintf("in_flight is %d, but the %d worker slots may hold %d completed tasks until their next claims are answered",
			w.InFlight, w.Workers, w.Workers*w.ClaimBatch()), "raise it, or lower workers or batch")
	}
}

// readInFlight reads in_flight; see Workload.InFlight.
func readInFlight(b *hclfile.Block, w *Workload) {
	if w.Arrivals.Kind != None && w.Arrivals.Kind != "" {
		spec := hclfile.IntSpec{Min: 1, Max: inFlightMax}
		if w.Arrivals.Timed() {
			spec.Default = inFlightDefault
		}
		w.InFlight = b.Int("in_flight", spec)
	}
}

func checkInFlight(b *hclfile.Block, w *Workload) {
	switch {
	case w.Arrivals.Kind == Closed && w.InFlight > 0 && w.InFlight < w.EnqueueBatch():
		b.AttrProblem("in_flight", fmt.Sprintf("in_flight is %d, fewer than the %d tasks of one call", w.InFlight, w.EnqueueBatch()), "raise it, or lower batch")
	case w.Arrivals.Kind == None && b.Has("in_flight"):
		b.AttrProblem("in_flight", "in_flight is not valid with arrivals = none()", "remove it")
	}
}

const (
	// seedDefault is constant, so that two runs send the same tasks unless a scenario requests
	// otherwise.
	seedDefault = 1

	// inFlightMax bounds the memory of the ledger, which is about one byte for each task in flight.
	inFlightMax     = 100_000_000
	inFlightDefault = 1_000_000

	// sessionTasksMax is the largest number of tasks that the server allows one worker session to
	// hold.
	sessionTasksMax = 1 << 16
)
