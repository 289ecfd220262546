package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// serverProbe reads one server at the edges of the window. If a fault ended the server's process
// during the window, the counters of that process are lost. Figures that need these counters are
// missing, and a warning reports this.
type serverProbe struct {
	server *topology.Server
	admin  adminhttp.Client // of the process at the start of the window

	first          *topology.Node // the process at the start of the window
	before         observe.Usage
	spent          observe.Spent
	countersBefore map[string]float64
	countersAfter  map[string]float64 // nil if the server was down at the end of the window
	metricsBefore  observe.Metrics    // including histograms
	metricsAfter   observe.Metrics
	// cpuUnknown is the reason why the CPU time of a server on another host is unknown. It is nil
	// if the CPU time is known.
	cpuUnknown error
	stalls     *observe.Stalls // nil if the server does not record them
	partial    bool            // set if the first process did not live until the end of the window
	peak       uint64
	counters   profile.Span // period that the counters cover
	warnings   []string
}

// serverProbes are the probes of all servers of a round.
type serverProbes []*serverProbe

// each calls do for all servers simultaneously.
func (p serverProbes) each(do func(*serverProbe) error) error {
	errs := make([]error, len(p))
	var all sync.WaitGroup
	for i, s := range p {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *serverProbe) warn(format string, args ...any) {
	of := ""
	if s.server.ID != "" {
		of = s.server.ID + ": "
	}
	s.warnings = append(s.warnings, of+fmt.Sprintf(format, args...))
}

func (s *serverProbe) resetPeak() {
	if s.server.Node().Remote {
		return
	}
	if err := observe.ResetPeak(s.server.Node().PID); err != nil {
		s.warn("%s covers the warm-up too: %v", result.ServerRSSMBMax, err)
	}
}

func (s *serverProbe) scrapeBefore(ctx context.Context, mark func() profile.Mark) (err error) {
	s.metricsBefore, err = observe.ScrapeAll(ctx, s.admin)
	s.counters.From = mark()
	s.countersBefore = s.metricsBefore.Values
	return err
}

func (s *serverProbe) sampleBefore(ctx context.Context) (err error) {
	s.first = s.server.Node()
	if s.first.Remote {
		s.before, s.cpuUnknown = s.sampleRemote(ctx)
		return nil
	}
	s.before, err = usage(s.server)
	return err
}

func (s *serverProbe) sampleAfter(ctx context.Context) error {
	if s.first.Remote {
		s.sampleRemoteAfter(ctx)
		return nil
	}
	after, err := usage(s.server)
	if err != nil {
		return err
	}
	s.spent = after.Since(s.before)
	if s.server.Node() != s.first {
		s.spent.Written, s.spent.Switches = observe.Count{}, observe.Count{} // those of the first process are lost
	}
	return nil
}

// usage returns the total resource usage of all processes that a server has had so far.
func usage(s *topology.Server) (observe.Usage, error) {
	node, ended := s.Node(), s.CPUOfEnded()
	u, err := observe.Sample(node.PID)
	// If the process ended a moment ago, CPUOfEnded now includes its CPU time.
	if !node.Running() {
		u, err, ended = observe.Ended(), nil, s.CPUOfEnded()
	}
	u.CPU += ended
	return u, err
}

func (s *serverProbe) scrapeAfter(ctx context.Context, cluster *topology.Cluster, mark func() profile.Mark) error {
	node := s.server.Node()
	if node != s.first {
		s.partial = true
		// The counters of the new process start at zero.
		s.countersBefore, s.metricsBefore = nil, observe.Metrics{}
	}
	metrics, err := observe.ScrapeAll(ctx, admin(cluster, s.server))
	s.counters.To = mark()
	if err != nil && !node.Running() {
		s.partial = true
		s.warn("it was down at the end of the window: its counters are missing")
		return nil
	}
	if s.partial {
		s.warn("it was restarted in the window: the counts of its first process are missing")
	}
	s.metricsAfter, s.countersAfter = metrics, metrics.Values
	if err != nil {
		return err
	}
	if s.stalls, err = observe.ReadStalls(ctx, admin(cluster, s.server)); err != nil {
		s.warn("its slow commits are missing: %v", err)
	}
	return nil
}

func (s *serverProbe) readPeak() error {
	node := s.server.Node()
	peak, err := observe.PeakRSS(node.PID)
	if err != nil && !node.Running() {
		s.warn("it was down at the end of the window: its memory is missing from %s", result.ServerRSSMBMax)
		return nil
	}
	s.peak = peak
	return err
}

// delta returns the growth of a counter in the window. there is false if the server does not have
// the counter. If the server is partial, delta returns the growth since the server's last start.
func (s *serverProbe) delta(counter string) (float64, bool) {
	after, there := s.countersAfter[counter]
	return after - s.countersBefore[counter], there
}
