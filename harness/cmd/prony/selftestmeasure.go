package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// selfTestBuilt are the binaries of one source.
type selfTestBuilt struct {
	plain     string   // the server in the linker's default order, as CI checks it
	base      []string // the server in several layouts
	layout    []string // the server in the same number of other layouts, with padding
	generator string
	build     result.Build
}

// buildSelfTest builds the working tree.
func buildSelfTest(ctx context.Context, b *builder) (*selfTestBuilt, error) {
	s, err := b.here(ctx, "selftest")
	if err != nil {
		return nil, err
	}
	built := &selfTestBuilt{build: s.build}
	if built.plain, err = b.server(ctx, s, 0); err != nil {
		return nil, err
	}
	for i := range 2 * layouts {
		path, err := b.server(ctx, s, 1+i)
		if err != nil {
			return nil, err
		}
		if i < layouts {
			built.base = append(built.base, path)
		} else {
			built.layout = append(built.layout, path)
		}
	}
	built.generator, err = b.generator(ctx, s)
	return built, err
}

// selfTestMeasuring adds pieces to a bank.
type selfTestMeasuring struct {
	bank            string
	scenario, smoke *scenario.Scenario
	built           selfTestBuilt
	within          time.Duration
	kinds           []string // kinds to measure; empty means all
	conditions      duet.Conditions
	command         []string
	stderr          io.Writer
	now             func() time.Time
	// duet is duet.Measure and arms is run.Interleave, except in tests.
	duet func(context.Context, *scenario.Scenario, [2]duet.Side, duet.Options) (*result.Duet, string, error)
	arms func(context.Context, *scenario.Scenario, []run.Arm, run.ArmsOptions) (*run.Arms, error)
}

// until adds at least one piece to the bank, and more while the next one will end before the
// deadline.
func (m *selfTestMeasuring) until(ctx context.Context, deadline time.Time) error {
	for first := true; first || !m.now().Add(m.within).After(deadline); first = false {
		kind, err := m.next()
		if err != nil {
			return err
		}
		if err := m.piece(ctx, kind); err != nil {
			return fmt.Errorf("a piece of %s: %w", kind.Name, err)
		}
	}
	return nil
}

// next returns the first kind with the smallest share of its wanted pieces in the bank. It does not
// count pieces that cannot be judged with the next ones.
func (m *selfTestMeasuring) next() (least gate.SelfTestKind, err error) {
	_, documents, err := readPieces(m.bank)
	if err != nil {
		return least, err
	}
	have := map[string]int{}
	for _, d := range documents {
		next, err := m.document(d.Kind)
		if err != nil {
			return least, err
		}
		if d.judgedWith(next) {
			have[d.Kind]++
		}
	}
	share := -1.0
	for _, k := range append(gate.SelfTestKinds(), gate.SelfTestKind{Name: gate.CountersKind, Wanted: gate.CountersWanted},
		gate.SelfTestKind{Name: gate.CheckKind, Wanted: gate.CheckWanted}) {
		if len(m.kinds) > 0 && !slices.Contains(m.kinds, k.Name) {
			continue
		}
		if s := float64(have[k.Name]) / float64(k.Wanted); share < 0 || s < share {
			least, share = k, s
		}
	}
	return least, nil
}

// document returns the document of the next piece of a kind.
func (m *selfTestMeasuring) document(kind string) (pieceDocument, error) {
	s := m.scenario
	if kind == gate.CheckKind {
		s = m.smoke
	}
	load, err := loadOf(kind, s, m.conditions)
	return pieceDocument{Version: bankVersion, Kind: kind, Load: load, Within: m.within.Seconds()}, err
}

// piece measures and stores one piece.
func (m *selfTestMeasuring) piece(ctx context.Context, kind gate.SelfTestKind) error {
	d, err := m.document(kind.Name)
	if err != nil {
		return err
	}
	started := m.now()
	file, measured, err := m.sides(ctx, kind, &d)
	if err != nil {
		return err
	}
	name, err := storePiece(m.bank, started, d, file, measured)
	if err == nil {
		say(m.stderr, "%s is in the bank", name)
	}
	return err
}

// sides measures one piece and sets the planted amount in d. It returns the measured value and the
// name of its file.
func (m *selfTestMeasuring) sides(ctx context.Context, kind gate.SelfTestKind, d *pieceDocument) (file string, measured any, err error) {
	switch kind.Name {
	case gate.CheckKind:
		piece, err := m.slowed(ctx)
		return checkFile, piece, err
	case gate.CountersKind:
		works, err := m.works(ctx, kind)
		return workFile, works, err
	}
	planted := ""
	if !kind.Same() {
		c, err := m.calibration(ctx, kind.Fault, kind.Metric)
		if err != nil {
			return "", nil, err
		}
		same, err := readKind(m.bank, *d)
		if err != nil {
			return "", nil, err
		}
		planted, d.Amount = planting(kind.Fault, c.For(kind.Loss, same))
	}
	of, err := m.measure(ctx, kind, planted, duet.Options{Within: m.within, Looks: 1})
	if err != nil {
		return "", nil, err
	}
	for i := range of.Generations { // no verdict depends on the following, and a bank of hundreds of pieces would be large
		g := &of.Generations[i]
		g.Slices = nil
		for side := range g.Sides {
			g.Sides[side].Stages, g.Sides[side].PerCycle = nil, nil
		}
	}
	return result.DuetFile, of, nil
}

// works measures the fixed work of pairs of the same binary.
func (m *selfTestMeasuring) works(ctx context.Context, kind gate.SelfTestKind) (works []*result.FixedWork, err error) {
	for range gate.CounterPairs {
		measured, err := m.measure(ctx, kind, "", duet.Options{WorkOnly: true})
		if err != nil {
			return nil, err
		}
		works = append(works, measured.Work)
	}
	return works, nil
}

// measure measures a duet of a change of one kind in a temporary folder.
func (m *selfTestMeasuring) measure(ctx context.Context, kind gate.SelfTestKind, planted string, o duet.Options) (_ *result.Duet, err error) {
	sides := [2]duet.Side{}
	for i, name := range []string{run.Base, run.Change} {
		sides[i] = duet.Side{Name: name, Servers: m.built.base, Generator: m.built.generator, OwnClient: true, Build: m.built.build}
	}
	change := &sides[duet.Change]
	switch {
	case kind.Layout:
		change.Servers = m.built.layout
	case kind.Client:
		change.GeneratorEnv = []string{planted}
	case planted != "":
		change.Env = []string{planted}
	}
	dir, err := os.MkdirTemp(m.bank, ".measuring-") // on the bank's disk, as an ordinary comparison
	if err != nil {
		return nil, fmt.Errorf("make a folder to measure in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if !o.WorkOnly { // counters do not depend on the page cache of the programs
		for i := range sides {
			if sides[i].Servers, err = newCopies(filepath.Join(dir, "servers-"+sides[i].Name), sides[i].Servers); err != nil {
				return nil, err
			}
		}
	}
	o.Out, o.Command, o.Seed = dir, m.command, uint64(m.now().UnixNano())
	measured, _, err := measureDuet(m.stderr, func(progress io.Writer) (*result.Duet, string, error) {
		o.Progress = progress
		return m.duet(ctx, m.scenario, sides, o)
	})
	if err != nil {
		return nil, err
	}
	for _, g := range measured.Generations {
		if g.Verdict == result.Misconfigured {
			return nil, fmt.Errorf("generation %d is %s: %v", g.Number, g.Verdict, g.Reasons)
		}
	}
	return measured, nil
}

// slowed runs the smoke scenario on servers that lose a part of their rate, and on an unchanged
// server.
func (m *selfTestMeasuring) slowed(ctx context.Context) (piece gate.CheckPiece, err error) {
	c, err := m.calibration(ctx, gate.CheckFault, result.CyclesPerS)
	if err != nil {
		return piece, err
	}
	var arms []run.Arm
	for _, loss := range gate.CheckLosses {
		arm := run.Arm{Name: fmt.Sprintf("loss-%.0f", 100*loss), Server: m.built.plain, Build: &m.built.build}
		if loss > 0 {
			planted, _ := planting(gate.CheckFault, c.For(loss, nil))
			arm.Env = []string{planted}
		}
		arms = append(arms, arm)
	}
	dir, err := os.MkdirTemp(m.bank, ".measuring-")
	if err != nil {
		return piece, fmt.Errorf("make a folder to measure in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	measured, err := m.arms(ctx, m.smoke, arms, run.ArmsOptions{Options: run.Options{
		Out: dir, Command: m.command, Progress: m.stderr, Terminal: isTerminal(m.stderr), Columns: columns(m.stderr),
	}})
	if err != nil {
		return piece, err
	}
	for i, arm := range measured.Arms {
		of := gate.CheckRun{Loss: gate.CheckLosses[i], Result: arm.Result}
		if len(arms[i].Env) > 0 {
			of.Planted = arms[i].Env[0]
		}
		if arm.Result.Metrics[result.CyclesPerS].N == 0 {
			return piece, fmt.Errorf("%s has no rate: %s: %v", arm.Name, arm.Result.Verdict, arm.Result.Reasons)
		}
		piece.Runs = append(piece.Runs, of)
	}
	return piece, nil
}
