package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// EnqueuesAlone reports whether the workload has producers but no workers, so that its tasks stay
// on the server.
func (w Workload) EnqueuesAlone() bool {
	return w.Producers > 0 && w.Workers == 0 && w.Arrivals.Kind == Closed
}

// ClaimsAlone reports whether the workload has workers but no producers. The workers then claim and
// complete a backlog that is filled before the warm-up.
func (w Workload) ClaimsAlone() bool {
	return w.Producers == 0 && w.Workers > 0 && w.Arrivals.Kind == Closed
}

// sideMax is the largest number of producers and of workers.
const sideMax = 100_000

// sideUnknown is the number of producers or workers after a problem was noted.
const sideUnknown = -1

// side describes producers or workers. With arrivals = none() there are no producers, and the
// workers only wait; idle is the spec for that case.
func side(field func(*Workload) *int, idle hclfile.IntSpec, a attribute[Workload]) attribute[Workload] {
	spec := hclfile.IntSpec{Max: sideMax, Required: true, Default: sideUnknown}
	a.read = func(b *hclfile.Block, w *Workload) {
		if w.Arrivals.Kind == None {
			*field(w) = b.Int(a.name, idle)
		} else {
			*field(w) = b.Int(a.name, spec)
		}
	}
	a = integer(field, spec, a)
	a.shownDefault = "required; 0 with `none()`"
	return a
}

func checkSlots(b *hclfile.Block, w *Workload) {
	if w.Producers == sideUnknown || w.Workers == sideUnknown { // avoid follow-up problems
		w.Producers, w.Workers = max(1, w.Producers), max(1, w.Tenants, w.Workers)
	}
	sessions := max(1, w.Tenants*w.Connections)
	if slots := (w.Workers + sessions - 1) / sessions; w.Driver == "stream" && slots*w.ClaimBatch() > sessionTasksMax {
		b.AttrProblem("workers", fmt.Sprintf("%d worker slots of up to %d tasks share a session, which may hold %d tasks",
			slots, w.ClaimBatch(), sessionTasksMax), "lower workers or batch, or raise connections")
	}
}

// checkSides refuses contradictions in a workload with only one role. It must run after in_flight
// and reads are read.
func checkSides(b *hclfile.Block, w *Workload) {
	if w.Arrivals.Kind == None || w.Arrivals.Kind == "" {
		return
	}
	switch {
	case w.Producers == 0 && w.Workers == 0:
		b.AttrProblem("workers", "producers and workers are both 0, so no task is enqueued or claimed", "raise one of the two, or write arrivals = none()")
	case w.Driver == DriverK6 && (w.Producers == 0 || w.Workers == 0):
		b.AttrProblem("workers", `the driver "k6" needs both producers and workers`, "write both with at least 1, or use another driver")
	case w.Producers == 0 && w.Arrivals.Timed():
		b.AttrProblem("producers", fmt.Sprintf("producers is 0, but arrivals = %s sends tasks", w.Arrivals), "raise it, or write arrivals = closed() and add a backlog")
	case w.ClaimsAlone() && b.Has("in_flight"):
		b.AttrProblem("in_flight", "in_flight is not valid with producers = 0: backlog.tasks is the number of tasks", "remove it")
	case w.ClaimsAlone() && w.ReadsTasks():
		b.AttrProblem("reads", "with producers = 0 no task is enqueued in the window, so reads have no task to read", "remove it")
	case w.Workers == 0 && w.Arrivals.Timed():
		b.AttrProblem("arrivals", fmt.Sprintf("arrivals = %s counts completed tasks, and with workers = 0 no task is completed", w.Arrivals), "write arrivals = closed(), or raise workers")
	case w.EnqueuesAlone() && w.Combined:
		b.AttrProblem("combined", "combined is not valid with workers = 0: no task is completed", "remove it")
	case w.EnqueuesAlone() && b.Has("worker_batch"):
		b.AttrProblem("worker_batch", "worker_batch is not valid with workers = 0: no task is claimed", "remove it")
	case w.EnqueuesAlone() && !b.Has("in_flight"):
		b.AttrProblem("workers", "workers is 0, so all tasks stay on the server, and in_flight must bound their number",
			"write in_flight = 1000000, or more than the producers enqueue in the warm-up and the window")
	}
}

func checkRoles(b *hclfile.Block, s *Scenario) {
	one := func(w Workload) bool { return w.EnqueuesAlone() || w.ClaimsAlone() }
	if !Any(s.Workloads, one) {
		return
	}
	w := s.Workloads[0]
	refuse := func(has bool, what, remedy string) {
		if has {
			b.Problem("a workload of one role (workers = 0 or producers = 0) cannot be combined with "+what, remedy)
		}
	}
	refuse(len(s.Workloads) > 1, "another workload", "keep one of the two, or give each both roles")
	refuse(len(s.Faults) > 0, "faults", "give it both roles, or remove the faults")
	refuse(s.Soak != nil, "a soak", "give it both roles, or remove the soak")
	refuse(s.SeriesEvery > 0, "a series", "give it both roles, or remove the series")
	if len(s.Workloads) > 1 {
		return
	}
	switch {
	case w.EnqueuesAlone() && s.Backlog != nil:
		b.Problem("with workers = 0 there are no workers to drain a backlog", "remove the backlog, or raise workers")
	case w.ClaimsAlone() && s.Backlog == nil:
		b.Problem("with producers = 0 and no backlog there is no task to claim", "add backlog { tasks = 1000000 }, more tasks than the workers complete in the warm-up and the window")
	}
}
