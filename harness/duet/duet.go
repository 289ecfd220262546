// Package duet compares two builds. Both sides, base and change, run on one host at the same time:
// each has separate servers and a separate load generator process. The conductor sends load to the
// two sides in alternating slices of ten milliseconds, so that a slower host slows both sides. It
// reads the CPU clocks of all processes at the edges of the slices. A duet has many generations.
// Each generation starts fresh processes with empty data folders.
//
// If the host has enough CPUs and cores for all processes of both sides, both sides have load at
// the same time, each on separate CPUs and cores. If it has only enough CPUs for one side, servers
// and generators have separate CPUs, and both sides use the same CPUs in turn.
//
//   - The conductor (duet, generation) orders the generations, bounds their time, and stores their
//     measurements.
//   - A generation has a warm-up, a closed phase whose slices yield CPU time and rate (closed), and
//     an open phase that yields latency (open).
//   - A generation of a scenario with a sweep has a closed and an open phase per point (points),
//     with fresh generators and the same servers.
//   - A party (party, processes) runs one side of a generation, on the CPUs that cpus assigns.
//   - The servers' counters of the closed phase, such as the times of stages, are read before and
//     after it (stages).
//   - Profiles are taken in separate generations, after the others (profiled).
//   - Generations that the host disturbed are dropped, and slices that stalled are marked (judge).
//   - The processes of both sides use small pages only, so that the kernel maps the program code of
//     both in the same way (code).
//
// Package duet does not judge the change: package gate does.
package duet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Base and Change are the indices of the two sides.
const (
	Base   = 0
	Change = 1
)

// Side is one of the two builds.
type Side struct {
	Name string // "base" or "change"; used in the names of its folder and logs
	// Servers are the paths of the queued binary. There may be several binaries that differ only in
	// their linker layout. Both sides must have the same number.
	Servers   []string
	Generator string // path of the load generator binary
	// GeneratorArgs are the command-line arguments of the generator.
	GeneratorArgs []string
	OwnClient     bool // whether the generator was built with the client package of this side
	// Env is added to the environment of the servers, and GeneratorEnv to the environment of the
	// generator. Each element has the form "NAME=value".
	Env, GeneratorEnv []string
	Build             result.Build
}

// Options configures a duet.
type Options struct {
	Out     string   // folder in which the duet's folder is created
	Command []string // exact command line, for the manifest
	// Within is the duration of one look; 0 means 90 s. Looks bounds the number of looks; 0 means
	// three. After each look Decided is called with the duet so far and the number of the look,
	// counted from 1. If it returns true, the duet ends. If Decided is nil, all looks are measured.
	Within  time.Duration
	Looks   int
	Decided func(d *result.Duet, look int) bool
	// Admit is called once, before the first generation has load, with the settings that the
	// servers of the two sides reported. If it returns an error, the duet ends. If Admit is nil,
	// all settings are accepted.
	Admit func(base, change []result.ServerSettings) error
	// Generations bounds the number of generations, including dropped ones. 0 means that the number
	// is not bounded.
	Generations int
	// PerLook is the number of generations in a look, however long they take. 0 means that Within
	// determines the end of a look.
	PerLook int
	// Closed is the length of a generation's closed phase; 0 means 3 s. OpenPairs is the number of
	// pairs of slices of its open phase; 0 means 10.
	Closed    time.Duration
	OpenPairs int
	// Seed determines the order of the slices, and the arrivals of the open phase.
	Seed uint64
	// Progress receives progress output for people; nil discards it.
	Progress io.Writer
	// Warnings are added to the result.
	Warnings []string
	// WorkCycles is the number of cycles of the fixed work. 0 means 60,000 cycles, or 15,000 for a
	// cluster.
	WorkCycles uint64
	// WorkOnly measures only the fixed work. NoWork omits the fixed work.
	WorkOnly, NoWork bool
	// Profiled returns how many profiled generations the duet needs to find the causes of its
	// result; it may return 0. It is called once, after the last look. A duet has at least as many
	// profiled generations as its scenario has profiled rounds, and none if the scenario takes no
	// profiles. Generations that are needed to find causes are longer. If Profiled is nil, none are
	// needed.
	Profiled func(d *result.Duet) int
	// ProfileLosses omits the profiled generations that the scenario asks for. Only those that
	// Profiled asks for are measured.
	ProfileLosses bool
	// Expected contains the counters of fixed work that are expected to differ because of the
	// change. It maps each counter to the reason.
	Expected map[string]string
}

const (
	withinDefault = 90 * time.Second
	looksDefault  = 3
)

// generationsMin is the number of generations that are measured however long they take, because the
// spread of fewer generations is unknown.
const generationsMin = 2

// predictedBy is the number of recent generations from which the duration of the next one is
// predicted.
const predictedBy = 4

// logsDir is the subfolder of a duet's folder for the logs of all processes.
const logsDir = "logs"

// Measure measures two sides; sides[0] is the base. It returns the duet and the path of its folder,
// in which it stores the duet as duet.json. If a side fails, the generation has a verdict with
// reasons, and it is the last generation. An error means that the result is incomplete because ctx
// is done, Admit returned an error, or the folder cannot be written. The folder then contains the
// generations so far.
//
// If the scenario has a sweep, each generation measures all points, and no profiles are taken.
//
// If the scenario takes profiles, the folder also contains a run folder for each side, with the
// name of the side. The run folder contains the profiles and the side's measurements from the
// profiled generations.
func Measure(ctx context.Context, s *scenario.Scenario, sides [2]Side, o Options) (*result.Duet, string, error) {
	fits := Fits
	if len(s.Points) > 0 {
		fits = FitsSweep
	}
	if err := fits(s); err != nil {
		return nil, "", err
	}
	if err := checkSides(sides); err != nil {
		return nil, "", err
	}
	c, err := newConductor(s, sides, o)
	if err != nil {
		return nil, "", err
	}
	measureErr := c.measure(ctx)
	c.duet.Finished = time.Now()
	return c.duet, c.folder.Path(), errors.Join(measureErr, c.store(), os.RemoveAll(c.folder.File(result.DataDir)), c.release())
}

func checkSides(sides [2]Side) error {
	for _, s := range sides {
		if s.Name == "" || result.Slug(s.Name) != s.Name {
			return fmt.Errorf("side %q: expected a name of lower-case letters, digits and hyphens, because it names files", s.Name)
		}
		if len(s.Servers) == 0 || s.Generator == "" {
			return fmt.Errorf("side %s: expected a server and a generator", s.Name)
		}
	}
	if base, change := sides[Base], sides[Change]; len(base.Servers) != len(change.Servers) {
		return fmt.Errorf("%s has %d layouts of its server and %s has %d: give both the same layouts", base.Name, len(base.Servers), change.Name, len(change.Servers))
	}
	return nil
}

type conductor struct {
	scenario *scenario.Scenario
	sides    [2]Side
	options  Options
	folder   *result.Folder
	release  func() error // releases the folder
	duet     *result.Duet
	now      func() time.Time
	rates    map[string]float64 // rates of the open phases, by the name of the point
	// asked is set once the settings of the servers are stored.
	asked   bool
	refused error // error that Admit returned
	// start starts the processes of a side for a generation. Tests replace it.
	start func(ctx context.Context, g *result.Generation, side int) (party, error)
	// signals starts to watch the host. The returned function ends the watch. Tests replace
	// signals.
	signals func(parties [2]party) (stop func() result.Signals)
	// work measures the fixed work. Tests replace it.
	work func(ctx context.Context) *result.FixedWork
}

func newConductor(s *scenario.Scenario, sides [2]Side, o Options) (*conductor, error) {
	if o.Within <= 0 {
		o.Within = withinDefault
	}
	if o.Looks <= 0 {
		o.Looks = looksDefault
	}
	if o.Closed <= 0 {
		o.Closed = closedLength
	}
	if o.OpenPairs <= 0 {
		o.OpenPairs = openPairs
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	s, polls := withoutPolling(s)
	if polls {
		o.Warnings = append(slices.Clone(o.Warnings), pollingWarning)
	}
	started := time.Now()
	folder, release, err := result.Begin(o.Out, result.NewID(started, "compare-"+s.Name), o.Progress)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{result.DataDir, logsDir} {
		if err := os.Mkdir(folder.File(dir), 0o700); err != nil {
			return nil, fmt.Errorf("make a folder for the servers: %w", err)
		}
	}
	cpus, together := ownCPUs(s)
	c := &conductor{scenario: s, sides: sides, options: o, folder: folder, release: release, now: time.Now}
	c.start, c.signals, c.work = c.startProcesses, watchHost, c.fixedWork
	c.duet = &result.Duet{
		Version: result.DuetVersion, Scenario: s.Name, Started: started,
		Manifest: result.Manifest{
			Command: o.Command, Dir: observe.WorkingDir(), Scenario: *s,
			Host: observe.Host(folder.File(result.DataDir)), Build: harnessBuild(sides[Change].Servers[0]),
		},
		Together: together, CPUs: cpus, SliceMs: milliseconds(sliceLength), Warnings: o.Warnings,
	}
	for i, side := range sides {
		c.duet.Sides[i] = side.stored()
	}
	return c, folder.WriteManifest(c.duet.Manifest)
}

// harnessBuild returns the build of this program, with the hash of the change's server. The commits
// of the sides are stored with the sides.
func harnessBuild(server string) result.Build {
	b := observe.Harness()
	b.Server = observe.Binary(server)
	return b
}

func (s Side) stored() result.DuetSide {
	d := result.DuetSide{
		Name: s.Name, Commit: s.Build.Commit, Dirty: s.Build.Dirty, Generator: observe.Binary(s.Generator), OwnClient: s.OwnClient,
	}
	for _, server := range s.Servers {
		d.Servers = append(d.Servers, observe.Binary(server))
	}
	d.Env = append(append(d.Env, s.Env...), s.GeneratorEnv...)
	return d
}

func (c *conductor) store() error { return result.WriteDuet(c.folder.Path(), c.duet) }

func (c *conductor) line(format string, args ...any) {
	// Write errors are ignored, because the duet does not depend on its progress output.
	_, _ = fmt.Fprintln(c.options.Progress, fmt.Sprintf(format, args...))
}

// measure measures looks until Decided returns true or all looks are measured. It then measures the
// profiled generations.
func (c *conductor) measure(ctx context.Context) error {
	c.line("%s: durability %s, slices of %v, at most %d looks of %s", c.scenario.Name, c.scenario.Topology.Durability, sliceLength, c.options.Looks, c.lookLength())
	c.line("%s: comparison folder %s", c.scenario.Name, c.folder.Path())
	began := c.now()
	if !c.options.NoWork {
		c.duet.Work = c.work(ctx)
	}
	if c.options.WorkOnly {
		return ctx.Err()
	}
	for look := 1; look <= c.options.Looks; look++ {
		going, err := c.look(ctx, began.Add(time.Duration(look)*c.options.Within))
		if err != nil || !going {
			return err
		}
		if err := c.store(); err != nil {
			return err
		}
		if c.options.Decided != nil && c.options.Decided(c.duet, look) || c.full() {
			break
		}
	}
	if c.swept() {
		return nil // profiles can explain a loss only for a single load
	}
	return c.profile(ctx)
}

func (c *conductor) lookLength() string {
	if c.options.PerLook > 0 {
		return fmt.Sprintf("%d generations", c.options.PerLook)
	}
	return c.options.Within.String()
}

func (c *conductor) full() bool {
	return c.options.Generations > 0 && len(c.duet.Generations) >= c.options.Generations
}

// look measures the generations of one look: PerLook generations, or as many as fit before the
// deadline. It returns false if a side failed, which ends the duet.
func (c *conductor) look(ctx context.Context, deadline time.Time) (going bool, err error) {
	first := len(c.duet.Generations)
	for !c.full() {
		measured := len(c.duet.Generations)
		if perLook := c.options.PerLook; perLook > 0 {
			if measured-first == perLook {
				break
			}
		} else if measured >= generationsMin && c.now().Add(c.nextTakes()).After(deadline) {
			break
		}
		g := c.plan(len(c.duet.Generations) + 1)
		if c.swept() {
			c.generation(ctx, g, c.sweep)
		} else {
			c.generation(ctx, g, c.timed)
		}
		if c.refused != nil {
			return false, c.refused
		}
		if ctx.Err() != nil {
			return false, fmt.Errorf("interrupted in generation %d: %w", g.Number, ctx.Err())
		}
		c.duet.Generations = append(c.duet.Generations, *g)
		if c.swept() {
			c.showPoints(g, deadline.Sub(c.now()))
		} else {
			c.show(g)
		}
		if failed(g) {
			return false, nil
		}
	}
	return true, nil
}

// nextTakes predicts the duration of the next generation. The prediction is the longest of the last
// few generations that passed. A generation that failed or hung does not predict the next one. If
// no generation has passed, the prediction is the longest generation so far.
func (c *conductor) nextTakes() time.Duration {
	var last, all float64
	counted := 0
	for _, g := range slices.Backward(c.duet.Generations) {
		all = max(all, g.Seconds)
		if g.Verdict == result.Pass && counted < predictedBy {
			counted++
			last = max(last, g.Seconds)
		}
	}
	if counted == 0 {
		last = all
	}
	return time.Duration(last * float64(time.Second))
}

// plan returns the next generation. For each layout, the sides take turns in starting first.
func (c *conductor) plan(number int) *result.Generation {
	n, layouts := number-1, len(c.sides[Base].Servers)
	return &result.Generation{
		Number: number, Layout: n % layouts, First: (n + n/layouts*(1-layouts%2)) % 2, CPUs: c.cpuSet(n, layouts), Verdict: result.Pass,
	}
}

func failed(g *result.Generation) bool {
	return g.Verdict == result.Incorrect || g.Verdict == result.Misconfigured
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
