package scenario

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const (
	// attemptsMax is the most attempts that a server allows unless its settings say otherwise.
	attemptsMax         = 1000
	maxAttemptsDefault  = 10
	retryBackoffDefault = 10 * time.Millisecond
)

// FailsTasks reports whether workers fail a share of their deliveries.
func (w Workload) FailsTasks() bool { return w.Fail > 0 }

// readFail reads the share of deliveries that workers fail, and how the server retries their tasks. A share of 0 is no share: the other two
// attributes have no meaning then, and may stand beside it because a sweep may have a 0.
func readFail(b *hclfile.Block, w *Workload) {
	attempts := b.Int("max_attempts", hclfile.IntSpec{Min: 1, Max: attemptsMax, Default: maxAttemptsDefault})
	backoff := b.Duration("backoff", hclfile.DurationSpec{Min: time.Millisecond, Max: time.Minute, Default: retryBackoffDefault})
	for _, attribute := range []string{"max_attempts", "backoff"} {
		if b.Has(attribute) && !b.Has("fail") {
			b.AttrProblem(attribute, attribute+" has no meaning without fail: no task is retried", "remove it, or write fail = 0.1")
		}
	}
	share, ok := shareAttribute(b, "fail", "the deliveries are failed")
	if !ok || share == 0 {
		return
	}
	switch {
	case share == 1:
		b.AttrProblem("fail", "fail is 1, so that no task is ever completed", "it is a share from 0 to below 1: write fail = 0.1")
	case w.Driver == DriverK6:
		b.AttrProblem("fail", `a script of the driver "k6" decides itself which tasks it fails`, driversOfLives)
	case w.Driver == DriverNull:
		b.AttrProblem("fail", fmt.Sprintf("the driver %q can't fail tasks: it hands out each task once", w.Driver), driversOfLives)
	case w.Arrivals.Kind == None:
		b.AttrProblem("fail", "with arrivals = none() there is no task to fail", "remove it")
	case w.Workers == 0:
		b.AttrProblem("fail", "with workers = 0 nobody claims the tasks, and nobody fails them", "remove it, or raise workers")
	}
	w.Fail, w.MaxAttempts, w.Backoff = share, attempts, backoff
}

// driversOfLives is the remedy where a driver can't lead tasks through other lives than enqueue, claim and completion.
const driversOfLives = `remove it, or write driver = "stream", "unary", "rest" or "embedded"`

// shareAttribute reads an attribute that is a share from 0 to 1; of says of what, with a verb.
func shareAttribute(b *hclfile.Block, name, of string) (share float64, ok bool) {
	share, ok = b.Number(name, hclfile.NumberSpec{AllowZero: true, Example: "0.1"})
	if ok && share > 1 {
		b.AttrProblem(name, fmt.Sprintf("%s is %v, which is no share from 0 to 1", name, share), fmt.Sprintf("write %s = 0.1 if a tenth of %s", name, of))
		return 0, false
	}
	return share, ok
}

// refusing returns a function that refuses what a workload with an attribute can't be had together with.
func refusing(b *hclfile.Block, attribute string) func(has bool, what, remedy string) {
	return func(has bool, what, remedy string) {
		if has {
			b.Problem("a workload with "+attribute+" and "+what+" can't be had together", remedy)
		}
	}
}

// checkFail says what of a scenario can't be had together with tasks that are failed.
func checkFail(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, Workload.FailsTasks) {
		return
	}
	refuse := refusing(b, "fail")
	refuse(len(s.Faults) > 0, "faults, which end leases and so use up attempts that no worker failed,", "remove one of the two")
	refuse(s.Soak != nil, "a soak, whose account of tasks goes on without the attempts after a restart,", "remove one of the two")
	refuse(s.Topology.Attached(), "servers that go on running, on which dead tasks would be left,", "remove fail, or start the nodes by SSH")
	refuse(s.Backlog != nil && s.Backlog.Restart != "none", "a backlog with a restart, which ends leases and so uses up attempts that no worker failed,", `write restart = "none", or remove fail`)
	for _, w := range s.Workloads {
		longest := time.Duration(w.MaxAttempts) * w.Backoff
		if drain := s.Phases.Drain; w.FailsTasks() && drain > 0 && longest > drain/2 {
			b.Problem(fmt.Sprintf("a task of %s may wait %s between its %d attempts, and the drain of %s must be at least twice as long", workloadPath+w.Name,
				hclfile.FormatDuration(longest), w.MaxAttempts, hclfile.FormatDuration(drain)), "lower max_attempts or backoff, or raise phases.drain")
		}
	}
}
