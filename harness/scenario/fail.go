package scenario

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const (
	// attemptsMax is the largest number of attempts that a server allows by default.
	attemptsMax         = 1000
	maxAttemptsDefault  = 10
	retryBackoffDefault = 10 * time.Millisecond
)

// FailsTasks reports whether workers fail a share of their deliveries.
func (w Workload) FailsTasks() bool { return w.Fail > 0 }

// checkFailed checks the share of deliveries that workers fail, and how the server retries their
// tasks. A share of 0 disables the other two attributes, so that a sweep can include it.
func checkFailed(b *hclfile.Block, w *Workload) {
	for _, attribute := range []string{"max_attempts", "backoff"} {
		if b.Has(attribute) && !b.Has("fail") {
			b.AttrProblem(attribute, attribute+" is valid only with fail: otherwise no task is retried", "remove it, or write fail = 0.1")
		}
	}
	switch {
	case !w.FailsTasks():
		w.MaxAttempts, w.Backoff = 0, 0
	case w.Fail == 1:
		b.AttrProblem("fail", "fail is 1, so no task would ever be completed", "it is a share from 0 to below 1: write fail = 0.1")
	case refuseLife(b, "fail", w, "the tasks to fail", "can't fail tasks: it hands out each task once", "to fail"):
	case w.Workers == 0:
		b.AttrProblem("fail", "with workers = 0 no task is claimed, and none can fail", "remove it, or raise workers")
	}
}

func checkFail(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, Workload.FailsTasks) {
		return
	}
	refuse := refusing(b, "fail")
	refuse(len(s.Faults) > 0, "faults: they end leases and so use up attempts that no worker failed", "remove one of the two")
	refuse(s.Soak != nil, "a soak: its account of tasks does not record attempts across a restart", "remove one of the two")
	refuse(s.Topology.Attached(), "servers that Prony does not start: dead tasks would stay on them", "remove fail, or start the nodes by SSH")
	refuse(s.Backlog != nil && s.Backlog.Restart != "none", "a backlog with a restart: it ends leases and so uses up attempts that no worker failed", `write restart = "none", or remove fail`)
	for _, w := range s.Workloads {
		longest := time.Duration(w.MaxAttempts) * w.Backoff
		if drain := s.Phases.Drain; w.FailsTasks() && drain > 0 && longest > drain/2 {
			b.Problem(fmt.Sprintf("a task of %s may wait %s between its %d attempts, and the drain of %s must be at least twice as long", workloadPath+w.Name,
				hclfile.FormatDuration(longest), w.MaxAttempts, hclfile.FormatDuration(drain)), "lower max_attempts or backoff, or raise phases.drain")
		}
	}
}
