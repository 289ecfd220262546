package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// profiledProcess is a server or the load generator while it is profiled.
type profiledProcess struct {
	node    string
	of      profile.Process
	session *profile.Session // nil if the session could not be started
}

// profiles takes the profiles of a window. A profiled round takes those of the scenario, and an
// observed round those of the observe block.
type profiles struct {
	captures []scenario.Capture // none if the window takes no profiles
	servers  serverProbes
	// ofGenerator reports whether the generator, which must be this process, is profiled too. nil
	// means that it is not.
	ofGenerator func() bool
	mark        func() profile.Mark
	folder      *result.Folder
	point       int // number of the point; 0 without a sweep
	// kept is false for an observed round: its profiles exist only to measure their cost.
	kept bool

	processes []*profiledProcess // empty unless the window takes profiles
}

// choose chooses the processes to profile.
func (p *profiles) choose() {
	if len(p.captures) == 0 {
		return
	}
	for _, s := range p.servers {
		p.processes = append(p.processes, &profiledProcess{node: s.server.ID, of: profile.Server{Admin: s.admin}})
	}
	if p.ofGenerator != nil && p.ofGenerator() {
		p.processes = append(p.processes, &profiledProcess{node: result.GeneratorNode, of: &profile.Self{}})
	}
}

func (p *profiles) prepare(ctx context.Context) error {
	return p.each("start", func(of *profiledProcess) (err error) {
		of.session, err = profile.Start(ctx, of.of, p.captures, p.mark)
		return err
	})
}

func (p *profiles) start(context.Context, time.Time) error { return nil }

func (p *profiles) startCPU(ctx context.Context) error {
	return p.each("start", func(of *profiledProcess) error { return of.session.StartCPU(ctx) })
}

func (p *profiles) stop(ctx context.Context) error {
	return p.each("stop", func(of *profiledProcess) error {
		if of.session == nil {
			return nil
		}
		return of.session.Stop(ctx)
	})
}

func (p *profiles) each(what string, do func(*profiledProcess) error) error {
	errs := make([]error, len(p.processes))
	var all sync.WaitGroup
	for i, of := range p.processes {
		all.Go(func() {
			if err := do(of); err != nil {
				errs[i] = fmt.Errorf("%s the profiles: %w", what, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// fill stores the profiles.
func (p *profiles) fill(m *measured) error {
	if !p.kept {
		return nil
	}
	for _, of := range p.processes {
		source := profile.Source{Round: m.round.Number, Point: p.point, Node: of.node}
		if _, err := of.session.Write(p.folder.Path(), source.Dir()); err != nil {
			return err
		}
		m.captured = append(m.captured, profile.Captured{Source: source})
		for _, warning := range of.session.Warnings() {
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s: %s", m.round.Number, cmp.Or(of.node, "server"), warning))
		}
	}
	return nil
}

// covered records the period of each stored profile with add, which returns the number of cycles in
// it.
func (p *profiles) covered(m *measured, add func(of, node string, s profile.Span) uint64) {
	if !p.kept {
		return
	}
	for i, of := range p.processes {
		spans := of.session.Spans()
		cycles := make(map[string]uint64, len(spans))
		for _, c := range p.captures { // gives a stable order
			if span, has := spans[c.Kind]; has {
				cycles[c.Kind] = add(result.CoveredProfile+c.Kind, of.node, span)
			}
		}
		m.captured[i].Cycles = cycles
	}
}
