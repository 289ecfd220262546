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

// Options configures a measurement. Each combination of the values in the lists is a point.
type Options struct {
	Out     string   // folder in which the folder of the result is created
	Command []string // exact command line, for the manifest
	// path of the queued binary, which must be built with the tag serialbudget
	Server    string
	Generator string       // path of the load generator binary
	Build     result.Build // describes the commit of both binaries

	Waits          []string // elements are result.WaitsParking and result.WaitsSpinning
	ServerProcs    []int    // values of GOMAXPROCS
	GeneratorProcs []int    // values of GOMAXPROCS
	Connections    []int
	InFlight       []int // requests in flight per connection

	Search time.Duration // time limit of the search at one point
	Window time.Duration // length of each of the two windows of a point
	Seed   uint64        // determines the order of slices

	Progress io.Writer // receives progress output for people; nil discards it
}

const (
	// sliceLength is the length of a slice. It is long compared with the start and the end of a
	// slice, and short compared with the changes of a host's speed.
	sliceLength = 20 * time.Millisecond
	// warmupSlices is the number of slices before the search. After these, connections and heaps
	// have reached their final sizes.
	warmupSlices = 50
	// pairsMax limits the number of pairs in a search. A search is also limited in time.
	pairsMax = 100_000
)

// Limits of the options.
const (
	connectionsMax       = 256
	pointsMax            = 256
	searchMin, searchMax = time.Second, time.Hour
	windowMin, windowMax = 100 * time.Millisecond, 30 * time.Second
)

// Check returns an error for the first invalid option. The error names the command's flag for the
// option.
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
				return fmt.Errorf("%s %d, expected 1 to %d", list.name, v, list.most)
			}
		}
	}
	if len(o.Waits) == 0 {
		return fmt.Errorf("--waits has no value: name %s, %s or both", result.WaitsParking, result.WaitsSpinning)
	}
	for _, waits := range o.Waits {
		if waits != result.WaitsParking && waits != result.WaitsSpinning {
			return fmt.Errorf("--waits %q, expected %s or %s", waits, result.WaitsParking, result.WaitsSpinning)
		}
	}
	if o.Search < searchMin || o.Search > searchMax {
		return fmt.Errorf("--search %v, expected %v to %v", o.Search, searchMin, searchMax)
	}
	if o.Window < windowMin || o.Window > windowMax {
		return fmt.Errorf("--window %v, expected %v to %v", o.Window, windowMin, windowMax)
	}
	if n := len(o.points()); n > pointsMax {
		return fmt.Errorf("the flags have %d combinations, expected at most %d: name fewer values", n, pointsMax)
	}
	return nil
}

// points returns all combinations of the options. Points that differ only in Waits are adjacent.
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

// cannotSpin returns the reason why the server of a point cannot poll on a host with the given
// number of CPUs. It returns "" if the server can poll.
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

// Measure measures all points and stores the result as serial.json in a new folder. It returns the
// result and the path of the folder. If a point fails, the result contains the points before it.
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
		// Write errors are ignored, because the result does not depend on its progress output.
		_, _ = fmt.Fprintf(o.Progress, "point %d of %d: %s\n", i+1, len(points), p.Name())
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

func outcome(p *result.SerialPoint) string {
	if p.Skipped != "" {
		return "skipped: " + p.Skipped
	}
	b := p.Budget
	return fmt.Sprintf("%s ns of work (%s to %s) for each request keep %s of %s requests/s: %s of slices in %s s",
		render.Number(b.WorkNs), render.Number(b.LowNs), render.Number(b.HighNs), render.PercentTo(keptShare, 0), render.Number(p.Unloaded.RequestsPerS),
		render.Plural(b.Pairs, "pair"), render.Number(b.Seconds))
}

// measure measures a point with its own server and generator.
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
