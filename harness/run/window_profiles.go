package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

// profiledProcess is a server or the load generator while it is profiled.
type profiledProcess struct {
	node    string
	of      profile.Process
	session *profile.Session // nil if the session could not be started
}

// toProfile returns the processes to profile. These are the servers. In a profiled round the
// generator is added if it is this process and no server is a part of it.
func (w *windowProbe) toProfile() (all []*profiledProcess) {
	if len(w.captures()) == 0 {
		return nil
	}
	for _, s := range w.servers {
		all = append(all, &profiledProcess{node: s.server.ID, of: profile.Server{Admin: s.admin}})
	}
	if w.kind == profiled && w.separate() && w.generator() == os.Getpid() {
		all = append(all, &profiledProcess{node: result.GeneratorNode, of: &profile.Self{}})
	}
	return all
}

func (w *windowProbe) startProfiles(ctx context.Context) error {
	return w.eachProfiled("start", func(p *profiledProcess) (err error) {
		p.session, err = profile.Start(ctx, p.of, w.captures(), w.mark)
		return err
	})
}

func (w *windowProbe) startCPUProfiles(ctx context.Context) error {
	return w.eachProfiled("start", func(p *profiledProcess) error { return p.session.StartCPU(ctx) })
}

func (w *windowProbe) stopProfiles(ctx context.Context) error {
	return w.eachProfiled("stop", func(p *profiledProcess) error {
		if p.session == nil {
			return nil
		}
		return p.session.Stop(ctx)
	})
}

func (w *windowProbe) eachProfiled(what string, do func(*profiledProcess) error) error {
	errs := make([]error, len(w.profiled))
	var all sync.WaitGroup
	for i, p := range w.profiled {
		all.Go(func() {
			if err := do(p); err != nil {
				errs[i] = fmt.Errorf("%s the profiles: %w", what, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// writeProfiles stores the profiles of a profiled round. It discards the profiles of an observed
// round, which exist only to measure the cost of profiling.
func (w *windowProbe) writeProfiles(m *measured) error {
	if w.kind != profiled {
		return nil
	}
	for _, p := range w.profiled {
		of := profile.Source{Round: m.round.Number, Point: w.point, Node: p.node}
		if _, err := p.session.Write(w.folder.Path(), of.Dir()); err != nil {
			return err
		}
		m.captured = append(m.captured, profile.Captured{Source: of})
		for _, warning := range p.session.Warnings() {
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s: %s", m.round.Number, cmp.Or(p.node, "server"), warning))
		}
	}
	return nil
}

// covered records the period that each figure of the round covers, and how many cycles were
// completed during each profile. The number of cycles in the window must already be set.
func (w *windowProbe) covered(m *measured, o *outcomes) {
	began := o.all[0].WindowStart
	add := func(of, node string, s profile.Span) uint64 {
		cycles := m.cyclesOf(s)
		m.round.Covered = append(m.round.Covered, result.Covered{
			Of: of, Node: node, FromS: s.From.At.Sub(began).Seconds(), ToS: s.To.At.Sub(began).Seconds(), Cycles: cycles,
		})
		return cycles
	}
	add(result.CoveredCPU, "", w.clocks)
	for _, s := range w.servers {
		if s.countersAfter != nil && !s.partial {
			add(result.CoveredCounters, s.server.ID, s.counters)
		}
	}
	if w.kind != profiled {
		return
	}
	for i, p := range w.profiled {
		spans := p.session.Spans()
		cycles := make(map[string]uint64, len(spans))
		for _, c := range w.scenario.Captures { // gives a stable order
			if span, has := spans[c.Kind]; has {
				cycles[c.Kind] = add(result.CoveredProfile+c.Kind, p.node, span)
			}
		}
		m.captured[i].Cycles = cycles
	}
}

// cyclesOf returns the number of cycles completed in a span. The cycles are not counted at the ends
// of the span if, for example, the generator is another process. cyclesOf then scales the window's
// number of cycles to the length of the span. If the span is empty, it returns the window's number
// of cycles.
func (m *measured) cyclesOf(s profile.Span) uint64 {
	switch passed := s.To.At.Sub(s.From.At).Seconds(); {
	case s.Cycles() > 0:
		return s.Cycles()
	case passed > 0 && m.round.WindowSeconds > 0:
		return uint64(float64(m.round.Cycles)*passed/m.round.WindowSeconds + 0.5)
	}
	return m.round.Cycles
}
