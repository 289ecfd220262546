package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// A resource limits the rate if its utilization is at least saturated.
	saturated = 0.85
	// A wait limits the rate if its share of a cycle's latency is at least dominates.
	dominates = 0.5
	// The CPUs of a host limit a closed load under two conditions: the fraction of the time in
	// which some thread waits for a CPU is at least pressed, and the fraction of the CPUs that is
	// busy is at least occupied. A server and a generator that share cores wait for each other, so
	// neither saturates its own CPUs. Pressure alone is not enough: threads that the network wakes
	// simultaneously wait briefly for CPUs, even if the CPUs are idle most of the time.
	pressed  = 1.0 / 3
	occupied = 0.6
	// shown is the smallest share that the evidence mentions: of a cycle's latency, of a goroutine,
	// or of the time.
	shown = 0.01
)

const (
	notSaturated = "not saturated: no measured resource is at its limit, and "
	// formerly is the text that earlier builds wrote instead of notSaturated.
	formerly = "bound by waiting: no measured resource is saturated, and "
)

// Describe sets the causes of a run's time and the bound of its rate, or of the rate of each point
// of a sweep. It does nothing without timed rounds.
func Describe(r *result.Result) {
	r.Causes = Costs(r)
	DescribeBound(r)
}

// DescribeBound sets the bound of the rate of a run, or of each point of a sweep, unless it is
// already set. The bound remains nil if the figures of the result do not show a limit, for example
// because results of earlier versions lack the stages.
func DescribeBound(r *result.Result) {
	if len(r.Points) == 0 {
		r.Bound = boundOf(r)
		return
	}
	for i := range r.Points {
		p := &r.Points[i]
		p.Bound = saidOr(p.Bound, func() *result.Bound {
			if setting, known := settingOf(&r.Manifest.Scenario, p); known {
				return boundBy(r, p.Number, p.Metrics, setting)
			}
			return nil
		})
	}
}

func boundOf(r *result.Result) *result.Bound {
	return saidOr(r.Bound, func() *result.Bound {
		return boundBy(r, 0, r.Metrics, scenario.Point{Topology: r.Manifest.Scenario.Topology, Workloads: r.Manifest.Scenario.Workloads})
	})
}

// saidOr returns the stored bound, or the bound that found derives. It derives a stored
// BoundWaiting again, because earlier builds ignored CPU pressure.
func saidOr(said *result.Bound, found func() *result.Bound) *result.Bound {
	if said != nil && said.By != result.BoundWaiting {
		return said
	}
	if bound := found(); bound != nil || said == nil {
		return bound
	}
	return &result.Bound{By: said.By, Sentence: strings.Replace(said.Sentence, formerly, notSaturated, 1)}
}

// settingOf returns the scenario's setting at a point. A stored scenario has no points, so
// settingOf applies the point's values to it.
func settingOf(s *scenario.Scenario, p *result.Point) (setting scenario.Point, known bool) {
	if p.Number >= 1 && p.Number <= len(s.Points) {
		return s.Points[p.Number-1], true
	}
	return s.At(p.Swept())
}

func boundBy(r *result.Result, point int, metrics map[string]result.Metric, setting scenario.Point) *result.Bound {
	l := limits{host: r.Manifest.Host, servers: r.Manifest.Hosts, setting: setting, metrics: metrics}
	for _, round := range r.Rounds {
		if round.Point == point && round.Timed() && round.Cycles > 0 && round.WindowSeconds > 0 {
			l.rounds = append(l.rounds, round)
		}
	}
	for _, lock := range r.Locks {
		if lock.Point == point {
			l.locks = append(l.locks, lock)
		}
	}
	return l.bound()
}

// limits collects the evidence for the bound of the rate at one setting.
type limits struct {
	host    result.Host
	servers []result.ServerHost // of servers on other hosts
	setting scenario.Point
	rounds  []result.Round // timed, with cycles
	metrics map[string]result.Metric
	locks   []result.Lock

	found []resource
	// unknown reports that a resource may be saturated although the figures do not show it.
	unknown bool
}

// resource is something that may limit the rate.
type resource struct {
	by    string
	used  float64 // share of the capacity in use
	least float64 // least value of used at which the resource limits the rate
	says  string
}

// bound returns the most used resource among those that limit the rate. If none limits it and every
// resource was measured (except locks, which only profiled runs measure), the bound is waiting: the
// load waits for its own schedule, or for answers because the in-flight limit is reached. Otherwise
// bound returns nil.
func (l *limits) bound() *result.Bound {
	if len(l.rounds) == 0 {
		return nil
	}
	l.cpu()
	l.pressure()
	l.time()
	l.waits()
	slices.SortStableFunc(l.found, func(a, b resource) int { return cmp.Compare(b.used/b.least, a.used/a.least) })
	evidence := make([]string, len(l.found))
	for i, u := range l.found {
		evidence[i] = u.says
	}
	says := strings.Join(evidence, ", ")
	if len(l.found) > 0 && l.found[0].used >= l.found[0].least {
		by := l.found[0].by
		return &result.Bound{By: by, Sentence: "bound by " + by + ": " + says}
	}
	if l.unknown || len(l.found) == 0 {
		return nil
	}
	why := "the load waits for answers, with as much in flight as its producers and workers allow"
	if l.timed() {
		why = "the load arrives at its own rate"
	}
	return &result.Bound{By: result.BoundWaiting, Sentence: notSaturated + why + ": " + says}
}

func (l *limits) timed() bool {
	return scenario.Any(l.setting.Workloads, func(w scenario.Workload) bool { return w.Arrivals.Timed() })
}

// polls reports which sides have connections that poll. Polling uses idle CPU time.
func (l *limits) polls() (servers, client bool) {
	return l.setting.Topology.BusyPoll, scenario.Any(l.setting.Workloads, func(w scenario.Workload) bool { return w.BusyPoll })
}

// cpu adds the CPU utilization of the servers and of the load generator. If both together saturate
// the host, the side that uses more is the bound. A side that polls may be idle although its CPUs
// are busy, so its bound is unknown.
func (l *limits) cpu() {
	// True if the servers run in separate processes.
	servers := l.setting.Topology.Kind != scenario.NoTopology && l.setting.Topology.Kind != scenario.Embedded
	server, serverKnown := l.mean(serverCores)
	client, clientKnown := l.mean(clientCores)
	l.unknown = l.unknown || !clientKnown || servers && !serverKnown
	serverPolls, clientPolls := l.polls()
	if l.setting.Topology.Kind == scenario.Remote {
		l.cpuElsewhere(result.BoundServerCPU, "the servers keep", server, l.serverProcs(), serverPolls)
		l.cpuElsewhere(result.BoundClientCPU, "the load generator keeps", client, l.clientProcs(), clientPolls)
		return
	}
	together := 0.0
	if l.host.CPUs > 0 {
		together = (server + client) / float64(l.host.CPUs)
	}
	add := func(by, who string, cores, other float64, procs int, polls bool) {
		if procs <= 0 || l.host.CPUs > 0 && procs > l.host.CPUs {
			procs = l.host.CPUs
		}
		if cores <= 0 || procs == 0 {
			return
		}
		part := cores / float64(procs)
		says := fmt.Sprintf("%s %s of %s busy", who, render.Digits(cores, 2), render.Plural(procs, "CPU"))
		if together > part && cores >= other && together >= saturated {
			part, polls = together, serverPolls || clientPolls
			says += fmt.Sprintf(" (with the other side %s of the host's %d)", render.Digits(server+client, 2), l.host.CPUs)
		}
		if polls && part >= saturated {
			l.unknown = true
			return
		}
		l.found = append(l.found, resource{by, part, saturated, says})
	}
	add(result.BoundServerCPU, "the servers keep", server, client, max(1, l.setting.Topology.Nodes)*l.setting.Topology.Procs, serverPolls)
	procs := 0
	if len(l.setting.Workloads) > 0 {
		procs = l.setting.Workloads[0].Procs
	}
	add(result.BoundClientCPU, "the load generator keeps", client, server, procs, clientPolls)
}

// pressure adds contention for the CPUs that all processes share, from the kernel's pressure stall
// information (PSI). It ranks behind a side that saturates its own CPUs. It skips open loads and
// servers on other hosts. If connections poll, polling may cause the pressure, so the bound is
// unknown.
func (l *limits) pressure() {
	if l.timed() || l.setting.Topology.Kind == scenario.Remote {
		return
	}
	percent, known := l.mean(func(r *result.Round) (float64, bool) {
		if r.Signals == nil || r.Signals.PressureCPUPercent == nil {
			return 0, false
		}
		return *r.Signals.PressureCPUPercent, true
	})
	part := percent / 100
	if !known || part < shown {
		return
	}
	if servers, client := l.polls(); servers || client {
		l.unknown = l.unknown || part >= pressed
		return
	}
	server, _ := l.mean(serverCores)
	client, _ := l.mean(clientCores)
	busy := (server + client) / float64(max(1, l.host.CPUs))
	least := pressed
	if busy < occupied {
		least = 1
	}
	l.found = append(l.found, resource{result.BoundHostCPU, min(part, least), least, fmt.Sprintf("some thread waits for a CPU %s of the time (PSI), and %s of the host's CPUs are busy",
		render.PercentTo(part, 0), render.PercentTo(busy, 0))})
}

// cpuElsewhere adds the CPU utilization of a side that shares no host with the other side. procs is
// the number of CPUs that the side may use, or 0 if unknown.
func (l *limits) cpuElsewhere(by, who string, cores float64, procs int, polls bool) {
	if procs == 0 {
		l.unknown = true
	}
	if cores <= 0 || procs == 0 {
		return
	}
	part := cores / float64(procs)
	if polls && part >= saturated {
		l.unknown = true
		return
	}
	l.found = append(l.found, resource{by, part, saturated, fmt.Sprintf("%s %s of %s busy", who, render.Digits(cores, 2), render.Plural(procs, "CPU"))})
}

// serverProcs returns the sum of GOMAXPROCS of the servers on other hosts, or 0 if any server does
// not report it.
func (l *limits) serverProcs() (procs int) {
	for _, h := range l.servers {
		if h.GOMAXPROCS == 0 {
			return 0
		}
		procs += h.GOMAXPROCS
	}
	return procs
}

// clientProcs returns the number of CPUs that a generator on a separate host may use.
func (l *limits) clientProcs() int {
	if len(l.setting.Workloads) > 0 && l.setting.Workloads[0].Procs > 0 {
		return min(l.setting.Workloads[0].Procs, max(1, l.host.CPUs))
	}
	return l.host.CPUs
}

// mean returns the mean of a figure over the rounds. known is false if a round lacks the figure.
func (l *limits) mean(of func(*result.Round) (float64, bool)) (mean float64, known bool) {
	for i := range l.rounds {
		v, has := of(&l.rounds[i])
		if !has {
			return 0, false
		}
		mean += v / float64(len(l.rounds))
	}
	return mean, true
}

func serverCores(r *result.Round) (float64, bool) {
	cores, has := r.Metrics[result.ServerCPUCores]
	return cores, has
}

// clientCores returns how many CPUs the generator's process kept busy. Results of earlier versions
// lack this figure; for them clientCores computes it from the CPU time per cycle.
func clientCores(r *result.Round) (float64, bool) {
	if len(r.Processes) > 0 {
		return r.Processes[0].CPUCores, !slices.Contains(r.Processes[0].Unknown, "cpu_cores")
	}
	us, has := r.Metrics[result.ClientCPUUsPerCycle]
	return us / 1e6 * float64(r.Cycles) / r.WindowSeconds, has
}

// time adds two shares of the wall-clock time: the share in which the shards' deciding goroutines
// work, and the share in which the disk syncs.
func (l *limits) time() {
	topology := l.setting.Topology
	if topology.Kind == scenario.NoTopology {
		return
	}
	if topology.Kind == scenario.ByProgram { // servers other than Prony's do not report it
		l.unknown = true
		return
	}
	shards := max(1, topology.Shards)
	cover := result.StagesCover(l.rounds)
	b, known := result.BudgetOf(result.MergeStages(l.rounds), cover.Cycles, cover.Seconds, shards)
	if busy := b.DecideUs + b.ApplyUs; known && busy+b.RestUs > 0 {
		part := busy / (busy + b.RestUs)
		l.found = append(l.found, resource{result.BoundGoroutine, part, saturated, "the goroutine that decides for a shard works " + render.PercentTo(part, 0) + " of the time"})
	}
	if us := meanOf(l.rounds, metricOf(result.StorageFsyncUsPerCycle)); us > 0 {
		part := us / meanCycleUs(l.rounds) / float64(shards*max(1, topology.Nodes))
		l.found = append(l.found, resource{result.BoundDisk, part, saturated, "fsyncs take " + render.PercentTo(part, 0) + " of the time of a shard"})
	}
	_, fsyncs := l.rounds[0].Metrics[result.StorageFsyncUsPerCycle]
	l.unknown = l.unknown || !known || !fsyncs
}

// waits adds three waits as shares of a cycle's median latency: the replication time beyond the
// local append, the append, and the wait for the most contended lock.
func (l *limits) waits() {
	latency := l.metrics[result.CycleLatencyMs+"_p50"].Median
	commit, committed := l.metrics[result.RaftCommitMsMean]
	l.unknown = l.unknown || l.setting.Topology.Nodes > 1 && (!committed || latency <= 0)
	longest := l.longest()
	if latency <= 0 {
		l.crowd(longest)
		return
	}
	logged := l.metrics[result.RaftAppendMsMean].Median
	if ms := commit.Median - logged; ms > 0 && l.setting.Topology.Nodes != 1 {
		part := min(1, ms/latency)
		l.found = append(l.found, resource{result.BoundNetwork, part, dominates, "replication takes " + render.PercentTo(part, 0) + " of a cycle's latency beyond the append to the log"})
	}
	if logged > 0 && l.setting.Topology.Durability == "sync" {
		part := min(1, logged/latency)
		l.found = append(l.found, resource{result.BoundDisk, part, dominates, "the append to the log, with its fsync, takes " + render.PercentTo(part, 0) + " of a cycle's latency"})
	}
	if part := min(1, longest.WaitNsPerCycle/1e6/latency); part >= shown {
		l.found = append(l.found, resource{result.BoundLock, part, dominates, fmt.Sprintf("waits for %s take %s of a cycle's latency", placed(longest), render.PercentTo(part, 0))})
	}
}

// crowd adds the mean number of goroutines that wait for a lock, for runs without a cycle latency.
// A lock with one waiter at all times is always held and limits the rate.
func (l *limits) crowd(lock result.Lock) {
	if waiters := lock.WaitNsPerCycle / 1e3 / meanCycleUs(l.rounds); waiters >= shown {
		l.found = append(l.found, resource{result.BoundLock, min(1, waiters), 1, fmt.Sprintf("on average %s goroutines wait for %s", render.Digits(waiters, 2), placed(lock))})
	}
}

func (l *limits) longest() (longest result.Lock) {
	for _, lock := range l.locks {
		if lock.Kind != "runtime" && lock.WaitNsPerCycle > longest.WaitNsPerCycle {
			longest = lock
		}
	}
	return longest
}

func placed(lock result.Lock) string {
	if lock.Node == result.GeneratorNode {
		return lock.Name + " in the load generator"
	}
	return lock.Name
}
