package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// EnqueuesAlone reports whether the workload has producers and no workers: its tasks stay on the
// server.
func (w Workload) EnqueuesAlone() bool {
	return w.Producers > 0 && w.Workers == 0 && w.Arrivals.Kind == Closed
}

// ClaimsAlone reports whether the workload has workers and no producers: the workers claim and
// complete a backlog that is filled before the warm-up.
func (w Workload) ClaimsAlone() bool {
	return w.Producers == 0 && w.Workers > 0 && w.Arrivals.Kind == Closed
}

// readSides reads producers and workers. Where nothing arrives there is no producer, and workers
// only wait.
func readSides(b *hclfile.Block, w *Workload) {
	if w.Arrivals.Kind == None {
		w.Producers = b.Int("producers", hclfile.IntSpec{Max: 0, Why: "with arrivals = none() no task is sent"})
		w.Workers = b.Int("workers", hclfile.IntSpec{Max: 100_000})
	} else {
		const unknown = -1
		w.Producers = b.Int("producers", hclfile.IntSpec{Max: 100_000, Required: true, Default: unknown})
		w.Workers = b.Int("workers", hclfile.IntSpec{Max: 100_000, Required: true, Default: unknown})
		if w.Producers == unknown || w.Workers == unknown { // nothing is said of a role that is not known
			w.Producers, w.Workers = max(1, w.Producers), max(1, w.Tenants, w.Workers)
		}
	}
	sessions := max(1, w.Tenants*w.Connections)
	if slots := (w.Workers + sessions - 1) / sessions; w.Driver == "stream" && slots*w.ClaimBatch() > sessionTasksMax {
		b.AttrProblem("workers", fmt.Sprintf("%d worker slots of up to %d tasks share a session, which may hold %d tasks",
			slots, w.ClaimBatch(), sessionTasksMax), "lower workers or batch, or raise connections")
	}
}

// checkSides says what a workload of one role lacks, or has without a meaning. Its in_flight and
// reads are read.
func checkSides(b *hclfile.Block, w Workload) {
	if w.Arrivals.Kind == None || w.Arrivals.Kind == "" {
		return
	}
	switch {
	case w.Producers == 0 && w.Workers == 0:
		b.AttrProblem("workers", "producers and workers are both 0, so nothing is sent and nothing is claimed", "raise one of the two, or write arrivals = none()")
	case w.Driver == DriverK6 && (w.Producers == 0 || w.Workers == 0):
		b.AttrProblem("workers", `a script of the driver "k6" has both roles, producers and workers`, "write both with at least 1, or take another driver")
	case w.Producers == 0 && w.Arrivals.Timed():
		b.AttrProblem("producers", fmt.Sprintf("producers is 0, and arrivals = %s has tasks to send", w.Arrivals), "raise it, or write arrivals = closed() and add a backlog")
	case w.ClaimsAlone() && b.Has("in_flight"):
		b.AttrProblem("in_flight", "in_flight has no meaning with producers = 0: backlog.tasks says how many tasks there are", "remove it")
	case w.ClaimsAlone() && w.ReadsTasks():
		b.AttrProblem("reads", "with producers = 0 no task is enqueued in the window that could be read", "remove it")
	case w.Workers == 0 && w.Arrivals.Timed():
		b.AttrProblem("arrivals", fmt.Sprintf("arrivals = %s counts the tasks that are completed, and with workers = 0 none is", w.Arrivals), "write arrivals = closed(), or raise workers")
	case w.EnqueuesAlone() && w.Combined:
		b.AttrProblem("combined", "combined has no meaning with workers = 0: nothing is completed", "remove it")
	case w.EnqueuesAlone() && b.Has("worker_batch"):
		b.AttrProblem("worker_batch", "worker_batch has no meaning with workers = 0: nothing is claimed", "remove it")
	case w.EnqueuesAlone() && !b.Has("in_flight"):
		b.AttrProblem("workers", "workers is 0, so all tasks stay on the server, and in_flight does not say how many they may be",
			"write in_flight = 1000000, or more than the producers enqueue in the warm-up and the window")
	}
}

// checkRoles says what of a scenario can't be had together with a workload of one role.
func checkRoles(b *hclfile.Block, s *Scenario) {
	one := func(w Workload) bool { return w.EnqueuesAlone() || w.ClaimsAlone() }
	if !Any(s.Workloads, one) {
		return
	}
	w := s.Workloads[0]
	refuse := func(has bool, what, remedy string) {
		if has {
			b.Problem("a workload of one role (workers = 0 or producers = 0) and "+what+" can't be had together", remedy)
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
		b.Problem("with workers = 0 nobody drains a backlog", "remove the backlog, or raise workers")
	case w.ClaimsAlone() && s.Backlog == nil:
		b.Problem("with producers = 0 there is nothing to claim", "add backlog { tasks = 1000000 }, more tasks than the workers complete in the warm-up and the window")
	}
}
