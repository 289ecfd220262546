package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

func checkVolume(b *hclfile.Block, s *Scenario) {
	tasks := s.Phases.Tasks
	if tasks == 0 {
		return
	}
	refuse := func(has bool, what, remedy string) {
		if has {
			b.Problem("a window that ends after phases.tasks cannot be combined with "+what, remedy)
		}
	}
	refuse(len(s.Workloads) > 1, "several workloads", "remove phases.tasks, or keep one workload")
	refuse(len(s.Faults) > 0, "faults", "remove one of the two")
	refuse(s.Soak != nil, "a soak", "remove one of the two")
	refuse(s.SeriesEvery > 0, "a series", "remove one of the two")
	for _, w := range s.Workloads {
		switch {
		case w.Driver == DriverK6:
			b.Problem(`a window that ends after phases.tasks cannot be combined with the driver "k6", whose script ends by time`, "remove phases.tasks, or use another driver")
		case w.Arrivals.Kind != Closed && w.Arrivals.Kind != "":
			b.Problem(fmt.Sprintf("a window that ends after phases.tasks needs closed producers: with arrivals = %s the rate, not the server, determines the time", w.Arrivals),
				"remove phases.tasks, or write arrivals = closed()")
		case w.EnqueuesAlone() && w.InFlight > 0 && w.InFlight <= tasks:
			b.Problem(fmt.Sprintf("in_flight allows %d tasks on the server, but phases.tasks needs %d after the warm-up", w.InFlight, tasks), "raise in_flight")
		case w.ClaimsAlone() && s.Backlog != nil && s.Backlog.Tasks > 0 && s.Backlog.Tasks <= tasks:
			b.Problem(fmt.Sprintf("the backlog has %d tasks, but phases.tasks needs %d after the warm-up", s.Backlog.Tasks, tasks), "raise backlog.tasks")
		}
	}
}
