package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// WorkloadsMax is how many workloads a scenario may have.
const WorkloadsMax = 8

// Any reports whether any of some workloads is so.
func Any(workloads []Workload, is func(Workload) bool) bool {
	return slices.ContainsFunc(workloads, is)
}

// Workload says what load is put on the topology.
type Workload struct {
	Name        string  `json:"name"`
	Driver      string  `json:"driver"`               // "stream", "unary", "rest", DriverK6, DriverEmbedded, DriverNull or DriverProgram
	Script      Script  `json:"-"`                    // of DriverK6
	Procs       int     `json:"procs,omitzero"`       // the generator's GOMAXPROCS; 0: its own choice
	BusyPoll    bool    `json:"busy_poll,omitzero"`   // its gRPC connections poll before their thread sleeps
	Connections int     `json:"connections,omitzero"` // client connections that producers and workers are spread over; 0 of DriverK6, whose script opens its own
	Tenants     int     `json:"tenants"`
	FirstTenant int     `json:"first_tenant,omitempty"` // the number of its first tenant: no two workloads share one
	Queues      int     `json:"queues"`                 // per tenant
	Producers   int     `json:"producers"`              // 0 where nothing arrives, and of a workload that claims alone
	Workers     int     `json:"workers"`                // worker slots: each holds one batch at a time; 0 of a workload that enqueues alone
	Batch       int     `json:"batch"`                  // tasks per call, see EnqueueBatch and ClaimBatch
	Payload     Payload `json:"payload"`
	Keys        Keys    `json:"keys,omitzero"`
	// Seed is what the sizes of payloads and the choice of queues are drawn from: with the same one
	// they are the same. 0 of DriverK6, which draws nothing.
	Seed     int      `json:"seed,omitzero"`
	Arrivals Arrivals `json:"arrivals"`
	// InFlight is how many tasks may be sent and not completed. An open load drops what is due
	// beyond that; the producers of a closed one wait until there is room, and 0 lets them go on.
	InFlight int           `json:"in_flight,omitzero"`
	Lease    time.Duration `json:"lease"`
	// Idempotent has the client give each task a key of its own, under which it enqueues again what
	// it does not know the outcome of.
	Idempotent bool `json:"idempotent,omitzero"`
	// Combined has a worker complete the tasks of a claim in the call of its next claim: of "unary"
	// and "rest".
	Combined bool `json:"combined,omitzero"`
	// Reads says which reads go beside the tasks.
	Reads Reads `json:"reads,omitzero"`
	// Priority says with which priorities tasks are enqueued.
	Priority Priority `json:"priority,omitzero"`
	// Fail is the share of the deliveries that workers fail, below 1. MaxAttempts and Backoff are
	// those of all tasks then: after so many failed attempts a task is dead, and before that it is
	// delivered again after Backoff, less the part that the server takes off at random.
	Fail        float64       `json:"fail,omitzero"`
	MaxAttempts int           `json:"max_attempts,omitzero"`
	Backoff     time.Duration `json:"backoff,omitzero"`

	// Delay says which tasks are enqueued with a delay.
	Delay Delay `json:"delay,omitzero"`
	// Result says which tasks are completed with a result, which the server keeps for
	// ResultRetention.
	Result Results `json:"result,omitzero"`
	// Extend is the share of the leases that workers extend once before they settle the task, by
	// Lease.
	Extend float64 `json:"extend,omitzero"`
	// Key is the share of the tasks that have an idempotency key and are enqueued again under it.
	Key float64 `json:"key,omitzero"`

	// ProducerBatch and WorkerBatch are the tasks per call of one side; 0: Batch.
	ProducerBatch int `json:"producer_batch,omitzero"`
	WorkerBatch   int `json:"worker_batch,omitzero"`
	// QueuePerWorker gives each worker slot a queue of its own, which only that slot claims from;
	// see QueuesOfTenant.
	QueuePerWorker bool  `json:"queue_per_worker,omitzero"`
	Think          Think `json:"think,omitzero"` // of a worker, between a claim and the completion
}

// HeldMax returns how many tasks the producers and workers hold at once: those of a call that is
// not answered, and those that are claimed.
func (w Workload) HeldMax() int { return w.Producers*w.EnqueueBatch() + w.Workers*w.ClaimBatch() }

// MarshalJSON writes times as text, and the script's fields beside the workload's.
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
	Names: hclfile.Names{Attributes: []string{
		"driver", "script", "procs", "connections", "tenants", "queues", "producers", "workers", "batch", "payload", "arrivals",
		"in_flight", "lease", "busy_poll", "idempotent", "combined", "keys", "seed", "reads",
		"producer_batch", "worker_batch", "queue_per_worker", "think", "priority",
		"fail", "max_attempts", "backoff", "delay", "result", "extend", "key",
	}},
	Label: "name", Example: `workload "main" { driver = "stream" ... }`, Required: true,
}

// readWorkloads reads each workload "NAME" { ... }. Their tenants are numbered on, so that no two
// share one. A window of 0 is one that is not known.
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
			b.AttrProblem("busy_poll", "busy_poll is true where topology.tls is true: connections with TLS are not polled", "remove one of the two")
		}
		checkK6(b, w, len(blocks))
		switch first, twice := seen[w.Name]; {
		case i == WorkloadsMax:
			b.Problem(fmt.Sprintf("a scenario may have %d workloads; this is one more", WorkloadsMax), "remove some")
			return workloads
		case twice && w.Name != "":
			b.LabelProblem(fmt.Sprintf("workload %q is given twice", w.Name), "the first is at "+first+"; rename one of the two")
		case len(blocks) > 1 && w.Arrivals.Kind == None:
			b.AttrProblem("arrivals", "a workload with arrivals = none() does nothing beside others", "remove the workload")
		}
		seen[w.Name] = b.Where()
		w.FirstTenant = tenants
		tenants += w.Tenants
		workloads = append(workloads, w)
	}
	for _, b := range blocks[:min(1, len(blocks))] {
		if tenants > tenantsMax && len(blocks) > 1 {
			b.Problem(fmt.Sprintf("all workloads together have %d tenants; there may be %d", tenants, tenantsMax), "lower tenants")
		}
	}
	checkProcs(blocks, workloads)
	checkReads(blocks, workloads)
	return workloads
}

// The drivers that need a topology of their own.
const (
	DriverEmbedded = "embedded" // calls a server in its own process
	DriverNull     = "null"     // calls nothing: each call is answered at once
)

// DriverK6 has a k6 process run a script that puts the load on the servers.
const DriverK6 = "k6"

// checkDriver makes sure that the driver reaches what the topology has. A kind or a driver of "" is
// not known.
func checkDriver(b *hclfile.Block, driver, kind string) {
	if driver == "" || kind == "" {
		return
	}
	switch {
	case driver == DriverProgram && kind != ByProgram:
		b.AttrProblem("driver", `the driver "program" reaches the servers of a target, and the scenario has none`, `write a target in place of the topology, or take another driver`)
		return
	case kind == ByProgram && driver != DriverProgram:
		b.AttrProblem("driver", fmt.Sprintf("the driver %q does not reach a target", driver), `write driver = "program"`)
		return
	}
	for _, need := range []struct{ driver, kind string }{{DriverEmbedded, Embedded}, {DriverNull, NoTopology}} {
		switch {
		case driver == need.driver && kind != need.kind:
			b.AttrProblem("driver", fmt.Sprintf("the driver %q needs topology %q; it is %q", driver, need.kind, kind),
				fmt.Sprintf("write topology %q, or take another driver", need.kind))
			return
		case kind == need.kind && driver != need.driver:
			b.AttrProblem("driver", fmt.Sprintf("the driver %q does not reach topology %q", driver, kind),
				fmt.Sprintf("write driver = %q, or take another topology", need.driver))
			return
		}
	}
}

// tenantsMax bounds the tenants of all workloads together.
const tenantsMax = 1000

// checkProcs makes sure that workloads that share the generator agree on how many CPUs it may use.
func checkProcs(blocks []*hclfile.Block, workloads []Workload) {
	for i, w := range workloads {
		if w.Procs != workloads[0].Procs {
			blocks[i].AttrProblem("procs", fmt.Sprintf("workload %q has procs = %d, workload %q has %d, and one generator drives both",
				w.Name, w.Procs, workloads[0].Name, workloads[0].Procs), "give all workloads the same, or none")
		}
	}
}

// The client sends callBytesMax in one call, of payloads and the names of their queues;
// taskNameBytesMax is more than the name of any queue of a workload has.
const (
	callBytesMax     = 4 << 20
	taskNameBytesMax = 8
)

// readWorkload reads one of them.
func readWorkload(b *hclfile.Block) Workload {
	w := Workload{
		Name: readName(b),
		Driver: b.Choice("driver", hclfile.ChoiceSpec{
			OneOf: []string{"stream", "unary", "rest", DriverK6, DriverEmbedded, DriverNull, DriverProgram}, Required: true,
		}),
		Procs:       b.Int("procs", hclfile.IntSpec{Min: 1, Max: ProcsMax}),
		Connections: b.Int("connections", hclfile.IntSpec{Min: 1, Max: 1024, Default: 1}),
		Tenants:     b.Int("tenants", hclfile.IntSpec{Min: 1, Max: tenantsMax, Default: 1}),
		Queues:      b.Int("queues", hclfile.IntSpec{Min: 1, Max: queuesMax, Default: 1}),
		Batch:       b.Int("batch", hclfile.IntSpec{Min: 1, Max: batchMax, Default: 1}),
		Payload:     readPayload(b),
		Seed:        b.Int("seed", hclfile.IntSpec{Min: 1, Max: math.MaxInt32, Default: seedDefault}),
		Arrivals:    readArrivals(b),
		Lease: b.Duration("lease", hclfile.DurationSpec{
			Min: time.Second, Max: time.Hour, Default: 30 * time.Second,
		}),
	}
	w.Script = readScript(b, w.Driver)
	w.BusyPoll = readBusyPoll(b, w.Procs)
	if w.Driver == DriverK6 {
		w.Connections, w.Seed = 0, 0
	}
	if w.BusyPoll && w.Driver == "rest" {
		b.AttrProblem("busy_poll", `connections of the driver "rest" can't poll`, "remove it, or take a gRPC driver")
	}
	w.Idempotent = b.Bool("idempotent")
	if w.Idempotent && w.Driver != "" && w.Driver != "stream" && w.Driver != DriverK6 {
		b.AttrProblem("idempotent", fmt.Sprintf("the driver %q gives tasks no keys", w.Driver), `remove it, or write driver = "stream"`)
	}
	readBatches(b, &w)
	readSides(b, &w)
	readQueuePerWorker(b, &w)
	checkSessions(b, w)
	w.Keys = readKeys(b, w.Tenants, w.QueuesOfTenant())
	readThink(b, &w)
	readInFlight(b, &w)
	readCombined(b, &w)
	readReads(b, &w)
	readPriority(b, &w)
	readFail(b, &w)
	readDelay(b, &w)
	readResult(b, &w)
	readExtend(b, &w)
	readKey(b, &w)
	checkSides(b, w)
	checkCallBytes(b, w)
	return w
}

// readCombined reads whether completions travel with the next claim. Their outcomes wait for that
// claim: if they took up all the room in flight, no task could come.
func readCombined(b *hclfile.Block, w *Workload) {
	if w.Combined = b.Bool("combined"); !w.Combined {
		return
	}
	switch {
	case w.Driver == "stream":
		b.AttrProblem("combined", `completions of the driver "stream" never wait for a claim`, `remove it, or write driver = "unary" or "rest"`)
	case w.Driver != "" && w.Driver != "unary" && w.Driver != "rest":
		b.AttrProblem("combined", fmt.Sprintf("the driver %q can't complete and claim in one call", w.Driver), `remove it, or write driver = "unary" or "rest"`)
	case w.InFlight > 0 && w.InFlight <= w.Workers*w.ClaimBatch():
		b.AttrProblem("in_flight", fmt.Sprintf("in_flight is %d, and the %d worker slots may hold %d completed tasks until their next claims are answered",
			w.InFlight, w.Workers, w.Workers*w.ClaimBatch()), "raise it, or lower workers or batch")
	}
}

// readInFlight reads how many tasks may be sent and not completed. An open load drops what is due
// beyond that; the producers of a closed one wait, and without a bound they don't.
func readInFlight(b *hclfile.Block, w *Workload) {
	switch w.Arrivals.Kind {
	case Open, Ramp, Burst, Stages:
		w.InFlight = b.Int("in_flight", hclfile.IntSpec{Min: 1, Max: inFlightMax, Default: inFlightDefault})
	case Closed:
		w.InFlight = b.Int("in_flight", hclfile.IntSpec{Min: 1, Max: inFlightMax})
		if w.InFlight > 0 && w.InFlight < w.EnqueueBatch() {
			b.AttrProblem("in_flight", fmt.Sprintf("in_flight is %d, fewer than the %d tasks of one call", w.InFlight, w.EnqueueBatch()), "raise it, or lower batch")
		}
	case None:
		if b.Has("in_flight") {
			b.AttrProblem("in_flight", "in_flight has no meaning with arrivals = none()", "remove it")
		}
	}
}

const (
	// seedDefault is the same for all, so that what is sent differs between two runs only where
	// somebody asked for it.
	seedDefault = 1

	// inFlightMax bounds what the ledger remembers of tasks under way: about a byte for each.
	inFlightMax     = 100_000_000
	inFlightDefault = 1_000_000

	// sessionTasksMax is how many tasks the server lets one worker session hold.
	sessionTasksMax = 1 << 16
)
