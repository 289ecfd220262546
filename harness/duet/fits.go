package duet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/scenario"
)

// serverBytes is the amount of memory that a server is assumed to use, to decide whether both sides
// fit on the host at the same time. It is several times the memory that a server uses under the
// load of a slice.
const serverBytes = 512 << 20

// drivers are the drivers that the load generator process supports.
var drivers = []string{"stream", "unary", "rest"}

// Fits returns the reason why a scenario cannot be measured as a duet on this host, or nil.
func Fits(s *scenario.Scenario) error {
	switch {
	case len(s.Points) > 0:
		return fmt.Errorf("it has a sweep of %d points", len(s.Points))
	}
	return fits(s)
}

// FitsSweep returns the reason why a scenario with a sweep cannot be measured as a duet on this
// host, or nil. Each generation measures all points with the same servers, so only the workload can
// be swept.
func FitsSweep(s *scenario.Scenario) error {
	if len(s.Points) == 0 {
		return errors.New("it has no sweep")
	}
	for _, sweep := range s.Sweeps {
		for path := range strings.SplitSeq(sweep.Path, ", ") {
			if !strings.HasPrefix(path, "workload.") {
				return fmt.Errorf("it sweeps %s, and the servers stay alive between the points: sweep settings of the workload", path)
			}
		}
	}
	for _, p := range s.Points {
		at := *s
		at.Workloads = p.Workloads
		if err := fits(&at); err != nil {
			return fmt.Errorf("at %s: %w", p.Name, err)
		}
	}
	return nil
}

func fits(s *scenario.Scenario) error {
	t := s.Topology
	switch {
	case t.Kind == scenario.Embedded || t.Kind == scenario.NoTopology:
		return fmt.Errorf("its topology %q has no server process", t.Kind)
	case t.Kind == scenario.ByProgram:
		return errors.New("a comparison is of two builds of Prony's server, and the scenario has a target instead")
	case t.Hosts != nil:
		return errors.New("its nodes have separate hosts, and the hosts of two builds would share the forwarder")
	case t.Kind == scenario.Remote:
		return errors.New("its servers run on other hosts, where the CPU clocks of slices can't be read")
	case len(s.Workloads) != 1:
		return fmt.Errorf("it has %d workloads, and a duet's generator has one", len(s.Workloads))
	case len(s.Faults) > 0:
		return errors.New("it has faults, which happen to one side alone")
	case s.Attack != nil:
		return errors.New("it has an attack, which happens to one side alone")
	case s.Observe != nil:
		return errors.New("it observes its timed rounds, which slices do not")
	case s.Recurring != nil:
		return errors.New("it has recurring tasks, whose due times do not fall into slices")
	case s.Phases.Tasks > 0:
		return errors.New("its window ends after a number of tasks, and slices end by time")
	case s.Backlog != nil:
		return errors.New("it has a backlog, which takes longer than a slice")
	}
	w := s.Workloads[0]
	switch {
	case !slices.Contains(drivers, w.Driver):
		return fmt.Errorf("its driver is %q, and a duet's generator has %q", w.Driver, drivers)
	case w.Arrivals.Kind != scenario.Closed || w.Producers == 0 || w.Workers == 0:
		return fmt.Errorf("workload %q has no closed loop from producers to workers, whose cycles slices could count", w.Name)
	}
	if w.ReadsTasks() {
		return fmt.Errorf("workload %q has reads, which slices do not make", w.Name)
	}
	if w.FailsTasks() {
		return fmt.Errorf("workload %q has fail, whose retries would come in later slices", w.Name)
	}
	if !w.Delay.IsZero() {
		return fmt.Errorf("workload %q has delayed tasks, which would come due in later slices", w.Name)
	}
	if !w.Result.IsZero() {
		return fmt.Errorf("workload %q has results, which slices do not read back", w.Name)
	}
	if w.ExtendsLeases() {
		return fmt.Errorf("workload %q has extend, which slices do not time", w.Name)
	}
	if w.RepeatsKeys() {
		return fmt.Errorf("workload %q has key, whose enqueues slices do not repeat", w.Name)
	}
	if w.CancelsTasks() {
		return fmt.Errorf("workload %q has cancel, which slices do not time", w.Name)
	}
	if w.FinalTasks {
		return fmt.Errorf("workload %q has final_tasks, which wait for the tasks of later slices", w.Name)
	}
	if w.HasUniqueKeys() {
		return fmt.Errorf("workload %q has unique, whose refused tasks are no cycles", w.Name)
	}
	for _, i := range s.Invariants {
		if i.Kind == scenario.Ordered {
			return fmt.Errorf("it has the invariant %q, which a duet does not check", i.Kind)
		}
	}
	need := uint64(2 * max(1, t.Nodes) * serverBytes)
	if available, known := observe.MemoryAvailable(); known && available < need {
		return fmt.Errorf("both sides together need about %d MiB of memory, and the host has %d available", need>>20, available>>20)
	}
	return nil
}
