package scenario

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var workloadBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{
		"driver", "procs", "connections", "tenants", "queues", "producers", "workers", "batch", "payload", "arrivals",
		"in_flight", "lease", "busy_poll", "idempotent",
	}},
	Label: "name", Example: `workload "main" { driver = "stream" ... }`, Required: true,
}

// readWorkload reads workload "NAME" { ... }.
func readWorkload(s *hclfile.Block) Workload {
	blocks := s.Blocks("workload", workloadBlock)
	if len(blocks) == 0 {
		return Workload{}
	}
	// All are checked, so that the one that stays is right too.
	w := readOneWorkload(blocks[0])
	for _, b := range blocks[1:] {
		readOneWorkload(b)
		b.Problem("more than one workload is not built yet",
			fmt.Sprintf("keep one; the first is at %s", blocks[0].Where()))
	}
	return w
}

// The client sends callBytesMax in one call, of payloads and the names of their queues; taskNameBytesMax is more than
// the name of any queue of a workload has.
const (
	callBytesMax     = 4 << 20
	taskNameBytesMax = 8
)

func readOneWorkload(b *hclfile.Block) Workload {
	w := Workload{
		Name: readName(b),
		Driver: b.Choice("driver", hclfile.ChoiceSpec{
			Built: []string{"stream", "unary", "rest"}, NotBuilt: []string{"embedded", "null"}, Required: true,
		}),
		Procs:       b.Int("procs", hclfile.IntSpec{Min: 1, Max: ProcsMax}),
		Connections: b.Int("connections", hclfile.IntSpec{Min: 1, Max: 1024, Default: 1}),
		Tenants:     b.Int("tenants", hclfile.IntSpec{Min: 1, Max: 1000, Default: 1}),
		Queues:      b.Int("queues", hclfile.IntSpec{Min: 1, Max: 10_000, Default: 1}),
		Batch:       b.Int("batch", hclfile.IntSpec{Min: 1, Max: 1000, Default: 1}),
		Payload:     readPayload(b),
		Arrivals:    readArrivals(b),
		Lease: b.Duration("lease", hclfile.DurationSpec{
			Min: time.Second, Max: time.Hour, Default: 30 * time.Second,
		}),
	}
	w.BusyPoll = readBusyPoll(b, w.Procs)
	if w.BusyPoll && w.Driver == "rest" {
		b.AttrProblem("busy_poll", `connections of the driver "rest" can't poll`, "remove it, or take a gRPC driver")
	}
	w.Idempotent = b.Bool("idempotent")
	if w.Idempotent && w.Driver != "" && w.Driver != "stream" {
		b.AttrProblem("idempotent", fmt.Sprintf("the driver %q gives tasks no keys", w.Driver), `remove it, or write driver = "stream"`)
	}
	readSides(b, &w)
	readInFlight(b, &w)
	if w.Batch*(w.Payload.Max+taskNameBytesMax) > callBytesMax {
		b.AttrProblem("batch", fmt.Sprintf("%d tasks of up to %d bytes, and their queues' names, are more than the %d bytes that one call carries",
			w.Batch, w.Payload.Max, callBytesMax), "lower batch or payload")
	}
	return w
}

// readInFlight reads how many tasks may be sent and not completed. An open load sheds what is due beyond that; the
// producers of a closed one wait, and without a bound they don't.
func readInFlight(b *hclfile.Block, w *Workload) {
	switch w.Arrivals.Kind {
	case Open:
		w.InFlight = b.Int("in_flight", hclfile.IntSpec{Min: 1, Max: inFlightMax, Default: inFlightDefault})
	case Closed:
		w.InFlight = b.Int("in_flight", hclfile.IntSpec{Min: 1, Max: inFlightMax})
		if w.InFlight > 0 && w.InFlight < w.Batch {
			b.AttrProblem("in_flight", fmt.Sprintf("in_flight is %d, fewer than the %d tasks of one call", w.InFlight, w.Batch), "raise it, or lower batch")
		}
	case None:
		if b.Has("in_flight") {
			b.AttrProblem("in_flight", "in_flight has no meaning with arrivals = none()", "remove it")
		}
	}
}

const (
	// inFlightMax bounds what the ledger remembers of tasks under way: about a byte for each.
	inFlightMax     = 100_000_000
	inFlightDefault = 1_000_000

	// sessionTasksMax is how many tasks the server lets one worker session hold.
	sessionTasksMax = 1 << 16
)

// readSides reads producers and workers. Where nothing arrives there is no producer, and workers only wait.
func readSides(b *hclfile.Block, w *Workload) {
	if w.Arrivals.Kind == None {
		w.Producers = b.Int("producers", hclfile.IntSpec{Max: 0, Why: "with arrivals = none() nobody sends anything"})
		w.Workers = b.Int("workers", hclfile.IntSpec{Max: 100_000})
	} else {
		w.Producers = b.Int("producers", hclfile.IntSpec{Min: 1, Max: 100_000, Required: true})
		w.Workers = b.Int("workers", hclfile.IntSpec{Min: 1, Max: 100_000, Required: true})
	}
	sessions := max(1, w.Tenants*w.Connections)
	if slots := (w.Workers + sessions - 1) / sessions; w.Driver == "stream" && slots*w.Batch > sessionTasksMax {
		b.AttrProblem("workers", fmt.Sprintf("%d worker slots of up to %d tasks share a session, which may hold %d tasks",
			slots, w.Batch, sessionTasksMax), "lower workers or batch, or raise connections")
	}
}
