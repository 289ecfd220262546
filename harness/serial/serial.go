package serial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/pronybench/prony/harness/generator"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Options say what is measured, and where it is stored. Each combination of the values of the lists is a point.
type Options struct {
	Out       string       // the folder that the result's folder is made in
	Command   []string     // the exact command, for the manifest
	Server    string       // the queued binary, built with the tag serialbudget
	Generator string       // the load generator binary
	Build     result.Build // the commit that both are built from

	Waits          []string // result.WaitsParking and result.WaitsSpinning
	ServerProcs    []int    // GOMAXPROCS
	GeneratorProcs []int    // likewise
	Connections    []int
	InFlight       []int // requests of each connection

	Search time.Duration // the longest search of one point
	Window time.Duration // of each of the two windows of a point
	Seed   uint64        // decides the order of slices

	Progress io.Writer // where people read how far it is; nil discards that
}

const (
	// sliceLength is long against what the begin and the end of a slice take, and short against the times in which a host changes its
	// speed.
	sliceLength = 20 * time.Millisecond
	// warmupSlices come before the search. By then connections and heaps have their sizes.
	warmupSlices = 50
	// pairsMax bounds a search, whatever its time.
	pairsMax = 100_000
)

// Bounds of the options.
const (
	connectionsMax       = 256
	pointsMax            = 256
	searchMin, searchMax = time.Second, time.Hour
	windowMin, windowMax = 100 * time.Millisecond, 30 * time.Second
)

// Check reports the first thing that is wrong with the options. It names them as the flags of the command do.
func (o *Options) Check() error {
	for _, list := range []struct {
		name string
		of   []int
		most int
	}{
		{"--server-procs", o.ServerProcs, scenario.ProcsMax},
		{"--generator-procs", o.GeneratorProcs, scenario.ProcsMax},
		{"--connections", o.Connections, connectionsMax},
		{"--in-flight", o.InFlight, generator.NoopInFlightMax},
	} {
		if len(list.of) == 0 {
			return fmt.Errorf("%s has no value: name at least one", list.name)
		}
		for _, v := range list.of {
			if v < 1 || v > list.most {
				return fmt.Errorf("%s %d is not 1 to %d", list.name, v, list.most)
			}
		}
	}
	if len(o.Waits) == 0 {
		return fmt.Errorf("--waits has no value: name %s, %s or both", result.WaitsParking, result.WaitsSpinning)
	}
	for _, waits := range o.Waits {
		if waits != result.WaitsParking && waits != result.WaitsSpinning {
			return fmt.Errorf("--waits %q is neither %s nor %s", waits, result.WaitsParking, result.WaitsSpinning)
		}
	}
	if o.Search < searchMin || o.Search > searchMax {
		return fmt.Errorf("--search %v is not %v to %v", o.Search, searchMin, searchMax)
	}
	if o.Window < windowMin || o.Window > windowMax {
		return fmt.Errorf("--window %v is not %v to %v", o.Window, windowMin, windowMax)
	}
	if n := len(o.points()); n > pointsMax {
		return fmt.Errorf("the flags have %d combinations, and %d is the most: name fewer values", n, pointsMax)
	}
	return nil
}

// points are the combinations of the options, with both kinds of waits beside each other.
func (o *Options) points() (all []result.SerialPoint) {
	for _, serverProcs := range o.ServerProcs {
		for _, generatorProcs := range o.GeneratorProcs {
			for _, connections := range o.Connections {
				for _, inFlight := range o.InFlight {
					for _, waits := range o.Waits {
						all = append(all, result.SerialPoint{
							Waits: waits, ServerProcs: serverProcs, GeneratorProcs: generatorProcs, Connections: connections, InFlight: inFlight,
						})
					}
				}
			}
		}
	}
	return all
}

// cannotSpin says why the server of a point does not poll on a host with a number of CPUs; "" if it does, or is not to.
func cannotSpin(p *result.SerialPoint, cpus int) string {
	switch {
	case p.Waits != result.WaitsSpinning:
		return ""
	case cpus == 1:
		return "a host with one CPU cannot spin: the thread that polls would keep the other process from its CPU"
	case p.ServerProcs > 1:
		return fmt.Sprintf("a server with GOMAXPROCS %d does not poll: busy_poll is for GOMAXPROCS 1", p.ServerProcs)
	}
	return ""
}

// Measure measures all points, and returns the result and the path of its folder, which has it as serial.json. After an error the folder
// has the points before.
func Measure(ctx context.Context, o Options) (*result.Serial, string, error) {
	if err := o.Check(); err != nil {
		return nil, "", err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	points := o.points()
	started := time.Now()
	folder, release, err := result.Begin(o.Out, result.NewID(started, "serial"), o.Progress)
	if err != nil {
		return nil, "", err
	}
	build := observe.Build(o.Server)
	build.Commit, build.Dirty = o.Build.Commit, o.Build.Dirty
	s := &result.Serial{
		Version: result.SerialVersion, Started: started, KeptShare: keptShare, SliceMs: float64(sliceLength) / float64(time.Millisecond),
		Manifest: result.Manifest{
			Command: o.Command, Dir: observe.WorkingDir(), Host: observe.Host(folder.Path()), Build: build,
			Scenario: scenario.Scenario{Name: "serial", Title: "Serial budget of no-op requests", Topology: topologyOf(&points[0])},
		},
	}
	for i := range points {
		p := &points[i]
		_, _ = fmt.Fprintf(o.Progress, "point %d of %d: %s\n", i+1, len(points), p.Name()) // what can't be written is a person's loss only
		if p.Skipped = cannotSpin(p, runtime.NumCPU()); p.Skipped == "" {
			err = o.measure(ctx, folder, p, i+1)
		}
		if err != nil {
			err = fmt.Errorf("point %d, %s: %w", i+1, p.Name(), err)
			break
		}
		s.Points = append(s.Points, *p)
		_, _ = fmt.Fprintf(o.Progress, "  %s\n", outcome(p))
	}
	s.Finished = time.Now()
	return s, folder.Path(), errors.Join(err, result.WriteSerial(folder.Path(), s), release())
}

// outcome is what a point came to in one line.
func outcome(p *result.SerialPoint) string {
	if p.Skipped != "" {
		return "skipped: " + p.Skipped
	}
	b := p.Budget
	return fmt.Sprintf("%s ns of work (%s to %s) for each request keep %s of %s requests/s: %s of slices in %s s",
		render.Number(b.WorkNs), render.Number(b.LowNs), render.Number(b.HighNs), render.PercentTo(keptShare, 0), render.Number(p.Unloaded.RequestsPerS),
		render.Plural(b.Pairs, "pair"), render.Number(b.Seconds))
}

// measure measures a point on processes of its own.
func (o *Options) measure(ctx context.Context, folder *result.Folder, p *result.SerialPoint, number int) (err error) {
	processes, err := o.start(ctx, folder, p, number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, processes.stop(ctx)) }()
	baseNs, err := processes.warmUp(ctx, warmupSlices)
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	began := time.Now()
	p.Budget, err = (&search{
		pairs: processes, baseNs: baseNs, pairsMax: pairsMax, order: rand.New(rand.NewPCG(o.Seed, uint64(number))),
		over: func() bool { return time.Since(began) >= o.Search },
	}).run(ctx)
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	p.Budget.Seconds, p.Budget.NsPerStep = time.Since(began).Seconds(), processes.nsPerStep
	if p.Unloaded, err = processes.window(ctx, 0, o.Window); err != nil {
		return fmt.Errorf("window without work: %w", err)
	}
	if p.AtBudget, err = processes.window(ctx, p.Budget.WorkNs, o.Window); err != nil {
		return fmt.Errorf("window at the budget: %w", err)
	}
	return nil
}
