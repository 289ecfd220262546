package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/harness/fault"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// injection injects the faults of a scenario into the cluster of a round, and records the rate of
// cycles during the faults. It does nothing for a scenario without faults.
type injection struct {
	faults []scenario.Fault
	window time.Duration
	mesh   *netproxy.Mesh // nil if no fault affects links
	// ownLevel is set if the scenario has a limit for result.FaultLevelRatio, which is the rate
	// after a fault relative to the rate before it.
	ownLevel bool

	// The goroutines that WindowStart starts write these fields. They have ended when load returns.
	series fault.Series
	events []fault.Event
	err    error
}

// newInjection returns an injection of the scenario's faults. If a fault affects links, it routes
// the connections between the nodes of the topology through links that can fail.
func newInjection(s *scenario.Scenario, config *topology.Config) *injection {
	h := &injection{faults: s.Faults, window: s.Phases.Window}
	h.ownLevel = slices.ContainsFunc(s.Limits, func(l scenario.Limit) bool { return l.Metric == result.FaultLevelRatio })
	for _, f := range s.Faults {
		if !f.OfLinks() || h.mesh != nil {
			continue
		}
		h.mesh = netproxy.New()
		config.PeerAddress = func(from, to, address string) (string, error) {
			h.mesh.Listens(to, address)
			return h.mesh.Address(from, to)
		}
	}
	return h
}

func (h *injection) again(faults []scenario.Fault) *injection {
	return &injection{faults: faults, window: h.window, mesh: h.mesh, ownLevel: h.ownLevel}
}

func (h *injection) close() error {
	if h.mesh == nil {
		return nil
	}
	return h.mesh.Close()
}

// load runs the load on the cluster and injects the faults from the start of the window. A load
// with faults continues after failed calls.
func (h *injection) load(ctx context.Context, cfgs []load.Config, l *loads) ([]*load.Outcome, error) {
	if len(h.faults) == 0 {
		return load.RunAll(ctx, cfgs...)
	}
	for i := range cfgs {
		cfgs[i].Persist = true
	}
	injecting, cancel := context.WithCancel(ctx)
	started := make(chan struct{})
	done := make(chan struct{})
	before := cfgs[0].Hooks.WindowStart
	cfgs[0].Hooks.WindowStart = func(hooks context.Context) error {
		began := time.Now()
		close(started)
		go func() {
			defer close(done)
			h.do(injecting, began, l)
		}()
		return before(hooks)
	}
	outcomes, err := load.RunAll(ctx, cfgs...)
	if err != nil {
		cancel()
	}
	defer cancel()
	select {
	case <-started:
		<-done
	default: // the load failed before its window started
	}
	return outcomes, err
}

// do injects the faults, and samples the number of cycles until the end of the window.
func (h *injection) do(ctx context.Context, began time.Time, l *loads) {
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		h.series = fault.Sample(ctx, began, h.window, func() uint64 { return l.count().completed })
	}()
	var links fault.Links
	if h.mesh != nil {
		links = h.mesh
	}
	plan := fault.Plan{Faults: h.faults, Window: h.window, Began: began}
	var cluster fault.Cluster = faultTargets{l.cluster}
	if l.target != nil {
		cluster = targetFaults{l.target}
	}
	h.events, h.err = fault.Inject(ctx, plan, cluster, links)
	<-sampled
}

// score adds the effects of the faults on the load to the round.
func (h *injection) score(o *outcomes, m *measured) {
	if len(h.faults) == 0 {
		return
	}
	if h.err != nil {
		m.fault(result.Incorrect, "the faults could not be injected: "+h.err.Error())
	}
	slot, cycles := h.series.Slots()
	failed := o.sum(failedCalls)
	f := &result.Faults{
		SlotS: slot.Seconds(), Cycles: cycles, RecoveredShare: fault.RecoveredShare, FailedCalls: failed.Count, FirstFailure: failed.First,
		RefusedCompletions: o.sum(refusedCompletions).Count,
	}
	m.round.Faults = f
	if f.FailedCalls > 0 {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %d calls of the load failed, and their outcome is unknown; the first: %s",
			m.round.Number, f.FailedCalls, f.FirstFailure))
	}
	if len(h.events) == 0 && h.err != nil {
		return
	}
	scores, err := fault.Judge(h.series, h.events)
	if err != nil {
		m.fault(result.Invalid, err.Error())
		return
	}
	f.BaselinePerS, f.BaselineDipPercent = scores.BaselinePerS, scores.BaselineDipPercent
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	for i, s := range scores.Events {
		e := h.events[i]
		f.Events = append(f.Events, result.Fault{
			Kind: e.Kind, Target: e.Target, Nodes: e.Nodes, Leader: e.Leader,
			BeganS: e.Began.Seconds(), DoneS: e.Done.Seconds(), HealedS: e.Healed.Seconds(),
			FirstAckMs: ms(s.FirstAck), Silent: s.Silent, BeforePerS: s.BeforePerS, RecoveryMs: ms(s.Recovery), Recovered: s.Recovered, BackSoon: new(s.BackSoon),
			DipPercent: s.DipPercent, FaultPerS: s.FaultPerS, AfterPerS: s.AfterPerS, LevelPerS: s.LevelPerS,
		})
	}
	if last := f.Events[len(f.Events)-1]; last.AfterPerS == 0 {
		m.fault(result.Incorrect, fmt.Sprintf("no cycle was acknowledged after the end of the last fault, %s of %s", last.Kind, last.Target))
	} else if decay := f.Decay(); decay != "" && h.ownLevel {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s; the scenario limits %s, which prony check and prony guard judge",
			m.round.Number, decay, result.FaultLevelRatio))
	} else if decay != "" {
		m.fault(result.Regressed, decay)
	}
}
