package scenario

import (
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

func checkFinalTasks(b *hclfile.Block, w *Workload) {
	const name = "final_tasks"
	switch {
	case !w.FinalTasks:
	case refuseLife(b, name, w, "the dependencies of its tasks", "does not support dependencies", "to wait for others"):
	case w.Producers == 0 || w.Workers == 0:
		b.AttrProblem(name, "final_tasks needs producers and workers: a final task waits until its members are completed", "remove it, or raise producers and workers")
	case w.Arrivals.Kind != Closed && w.Arrivals.Kind != "":
		b.AttrProblem(name, "final_tasks is valid only with arrivals = closed(): the calls of an open load have different numbers of tasks", "write arrivals = closed()")
	case w.EnqueueBatch() < 2:
		b.AttrProblem(name, "a call has one task, so its final task would have no members", "raise batch or producer_batch")
	case w.FailsTasks():
		b.AttrProblem(name, "final_tasks cannot be combined with fail: the final task of a dead member would wait forever", "remove one of the two")
	case w.CancelsTasks():
		b.AttrProblem(name, "final_tasks cannot be combined with cancel: the final task of a cancelled member would wait forever", "remove one of the two")
	case w.RepeatsKeys() || w.HasUniqueKeys():
		b.AttrProblem(name, "final_tasks cannot be combined with key and unique: the final task of a member that is not stored would wait forever", "remove final_tasks, or the other one")
	case !w.Delay.IsZero():
		b.AttrProblem(name, "final_tasks cannot be combined with delay: a task that waits for others has no delay", "remove one of the two")
	}
}

func checkFinalTasksOf(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, func(w Workload) bool { return w.FinalTasks }) {
		return
	}
	refuse := refusing(b, "final_tasks")
	refuse(s.Backlog != nil, "a backlog, whose calls have different numbers of tasks", "remove one of the two")
	refuse(len(s.Faults) > 0, "faults: the final task of a member whose enqueue failed would wait forever", "remove one of the two")
	refuse(s.Soak != nil, "a soak: its account of tasks does not record batches across a restart", "remove one of the two")
}
