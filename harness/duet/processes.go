package duet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/generator"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// exitWait bounds the wait for the end of a server after a connection broke.
const exitWait = 2 * time.Second

// processes implements party with real processes: the servers and the generator of a side in one
// generation.
type processes struct {
	cluster   *topology.Cluster
	load      *generator.Process
	servers   []int // process ids
	conserved bool  // if set, the servers' audit must agree with the ledger
	command   generator.Command
	specs     []generator.Spec // one per point
	used      time.Duration    // CPU time of the generators that have ended
	enqueued  result.Ledger    // sum of the ledgers of the generators that have ended

	ending  sync.Once
	stopErr error
}

// startProcesses starts the servers of a side with empty folders, and the generator of the side. If
// it returns an error, no process remains.
func (c *conductor) startProcesses(ctx context.Context, g *result.Generation, side int) (party, error) {
	s, cpus := c.sides[side], c.cpus(g, side)
	log := func(of string) string {
		return c.folder.File(filepath.Join(logsDir, fmt.Sprintf("%s-%s-%02d.log", of, s.Name, g.Number)))
	}
	cluster, err := topology.Start(ctx, topology.Config{
		Binary: s.Servers[g.Layout], Dir: c.folder.File(result.DataDir), LogPath: log("server"), Topology: c.scenario.Topology, Env: s.Env,
		CPUs: cpus.Servers, SmallPages: true,
	})
	if err != nil {
		return nil, err
	}
	p := &processes{cluster: cluster}
	for _, server := range cluster.Servers() {
		p.servers = append(p.servers, server.Node().PID)
	}
	for _, i := range c.scenario.Invariants {
		p.conserved = p.conserved || i.Kind == scenario.Conserved
	}
	address, http := cluster.Addresses()
	p.command = generator.Command{
		Binary: s.Generator, Args: s.GeneratorArgs, Env: s.GeneratorEnv, CPUs: cpus.Generator, SmallPages: true, LogPath: log("generator"),
	}
	points := c.scenario.Plan()
	for i, point := range points {
		w := point.Workloads[0]
		p.specs = append(p.specs, generator.Spec{
			Target:   generator.Target{Address: address, HTTP: http, Token: cluster.Token, CA: cluster.CA, BusyPoll: w.BusyPoll, Idempotent: w.Idempotent},
			Workload: w,
			Round:    uint64(c.duet.Started.UnixNano()) + uint64(2*(g.Number*len(points)+i)+side),
		})
	}
	if c.swept() { // each point starts a separate load
		return p, nil
	}
	if err := p.begin(ctx, 0); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

func (p *processes) begin(ctx context.Context, point int) (err error) {
	p.load, err = generator.Start(ctx, p.command, p.specs[point])
	return err
}

func (p *processes) settings() []result.ServerSettings { return p.cluster.Settings(nil) }

func (p *processes) cpu() (c clocks, err error) {
	for _, pid := range p.servers {
		used, err := observe.ProcessCPU(pid)
		if err != nil {
			return c, err
		}
		c.servers += used
	}
	if c.generator = p.used; p.load != nil {
		now, err := observe.ProcessCPU(p.load.PID())
		if err != nil {
			return c, err
		}
		c.generator += now
	}
	return c, nil
}

func (p *processes) counters(ctx context.Context) (all []observe.Metrics, err error) {
	for _, server := range p.cluster.Servers() {
		of, err := observe.ScrapeAll(ctx, p.cluster.Client(server.Node().Admin))
		if err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return all, nil
}

func (p *processes) code() (of code, err error) {
	for _, pid := range p.servers {
		pages, err := observe.ReadCodePages(pid)
		if err != nil {
			return of, err
		}
		if pages == nil {
			return code{}, nil
		}
		if of.servers == nil {
			of.servers = &observe.CodePages{}
		}
		of.servers.Resident += pages.Resident
		of.servers.Large += pages.Large
	}
	if p.load != nil { // in a sweep there is no generator between two points
		of.generator, err = observe.ReadCodePages(p.load.PID())
	}
	return of, err
}

func (p *processes) slice(ctx context.Context, length time.Duration) (cycles uint64, took time.Duration, err error) {
	s, err := p.load.Slice(ctx, length)
	return s.Cycles, s.Took, err
}

func (p *processes) openSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error {
	return p.load.OpenSlice(ctx, seed, perSecond, length)
}

func (p *processes) finish(ctx context.Context) (finished, error) {
	f, err := p.finishLoad(ctx)
	if err != nil || !p.conserved {
		return f, err
	}
	counts, err := audit.Read(ctx, p.cluster)
	if err != nil {
		return f, fmt.Errorf("audit: %w", err)
	}
	for _, problem := range audit.Conserved(counts, &p.enqueued) {
		f.problems = append(f.problems, "not conserved: "+problem)
	}
	return f, nil
}

func (p *processes) finishLoad(ctx context.Context) (finished, error) {
	used, err := observe.ProcessCPU(p.load.PID())
	if err != nil {
		return finished{}, err
	}
	report, err := p.load.Finish(ctx)
	if err != nil {
		return finished{}, err
	}
	p.load, p.used = nil, p.used+used
	addLedger(&p.enqueued, report.Ledger)
	f := finished{ledger: report.Ledger, open: report.Open, problems: audit.Balance(&report.Ledger)}
	if refused := report.RefusedCompletions; refused.Count > 0 {
		f.problems = append(f.problems, fmt.Sprintf("the server refused %d completions of tasks that it had leased: %s", refused.Count, refused.First))
	}
	if refused := report.RefusedEnqueues; refused.Count > 0 {
		f.refused = fmt.Sprintf("the server refused %d enqueues: %s", refused.Count, refused.First)
	}
	for _, pid := range p.servers {
		peak, err := observe.PeakRSS(pid)
		if err != nil {
			return f, err
		}
		f.rssMB += float64(peak) / 1e6
	}
	return f, nil
}

func (p *processes) failure() error {
	select {
	case <-p.cluster.Failed():
	case <-time.After(exitWait):
	}
	return p.cluster.Failure()
}

func (p *processes) stop(ctx context.Context) error {
	p.ending.Do(func() {
		if p.load != nil {
			p.stopErr = p.load.Kill()
		}
		p.stopErr = errors.Join(p.stopErr, p.cluster.Stop(context.WithoutCancel(ctx)))
	})
	return p.stopErr
}
