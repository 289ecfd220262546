package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Metrics that a server has of its own process.
const (
	cpuSecondsMetric = "process_cpu_seconds_total"
	rssMetric        = "process_resident_memory_bytes"
	fdsMetric        = "process_open_fds"
)

// remoteEvery is the time between two readings of a server on another host: each costs the server CPU time.
const remoteEvery = time.Second

// usageOf is what a server on another host says that its process has used. It is taken at this host's time: the clocks of two hosts are
// not compared.
func usageOf(m observe.Metrics, at time.Time) (observe.Usage, error) {
	cpu, has := m.Values[cpuSecondsMetric]
	if !has {
		return observe.Usage{}, fmt.Errorf("the server does not say its %s", cpuSecondsMetric)
	}
	return observe.Usage{CPU: time.Duration(cpu * float64(time.Second)), At: at}, nil
}

// sampleRemote reads what a server on another host has used so far.
func (s *serverProbe) sampleRemote(ctx context.Context) (observe.Usage, error) {
	began := time.Now()
	m, err := observe.ScrapeAll(ctx, s.admin)
	if err != nil {
		return observe.Usage{}, err
	}
	return usageOf(m, began.Add(time.Since(began)/2))
}

// remoteWatch reads the servers on other hosts within a window, and keeps the largest figures.
type remoteWatch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// watchRemote begins to read the servers on other hosts, each by a goroutine that writes to its process' watch until stop. Stop waits for
// the first reading, so that a short window has figures too.
func watchRemote(first context.Context, servers []*serverProbe, into []*processWatch) *remoteWatch {
	ctx, cancel := context.WithCancel(first)
	w := &remoteWatch{cancel: cancel}
	for i, s := range servers {
		if !s.server.Node().Remote {
			continue
		}
		w.done.Go(func() {
			into[i].sampleRemote(first, s)
			tick := time.NewTicker(remoteEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					into[i].sampleRemote(ctx, s)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return w
}

// stop returns when no goroutine reads any more. Further calls do nothing.
func (w *remoteWatch) stop() {
	if w != nil {
		w.cancel()
		w.done.Wait()
	}
}

// sampleRemote leaves out what can't be read, as of a server that is down.
func (p *processWatch) sampleRemote(ctx context.Context, s *serverProbe) {
	values, err := observe.Scrape(ctx, s.admin)
	if err != nil {
		return
	}
	if rss, has := values[rssMetric]; has && rss > 0 {
		p.rss, p.rssKnown = max(p.rss, uint64(rss)), true
	}
	if fds, has := values[fdsMetric]; has && fds > 0 {
		p.fds, p.fdsKnown = max(p.fds, int(fds)), true
	}
}

// remote reports whether the servers run on other hosts.
func (w *windowProbe) remote() bool { return w.topology == scenario.Remote }

// sampleRemoteAfter reads what a server on another host has used when the window ends. CPU time that can't be known is unknown.
func (s *serverProbe) sampleRemoteAfter(ctx context.Context) {
	after, err := s.sampleRemote(ctx)
	switch {
	case s.server.Node() != s.first:
		err = errors.New("it was started again in the window")
	case s.cpuUnknown != nil:
		err = s.cpuUnknown
	}
	s.cpuUnknown = err
	if err != nil {
		s.warn("the CPU time that it used is not known: %v", err)
		return
	}
	s.spent = after.Since(s.before)
}

// readRemotePeak takes the largest of the readings for the peak of a server's memory. A shorter peak is not seen.
func (s *serverProbe) readRemotePeak(watched *processWatch) {
	if !watched.rssKnown {
		s.warn("it does not say its %s: its memory is missing from %s", rssMetric, result.ServerRSSMBMax)
		return
	}
	s.peak = watched.rss
}

// cpuKnown reports whether the CPU time of all servers is known.
func (w *windowProbe) cpuKnown() bool {
	if w.target != nil && w.target.unknown {
		return false
	}
	for _, s := range w.servers {
		if s.cpuUnknown != nil {
			return false
		}
	}
	return true
}

// remoteProcs returns how many CPUs the servers on other hosts may use together, and 0 if that is not known of all.
func (w *windowProbe) remoteProcs() (procs int) {
	for _, h := range w.cluster.Hosts() {
		if h.GOMAXPROCS == 0 {
			return 0
		}
		procs += h.GOMAXPROCS
	}
	return procs
}

// peaksKnown reports whether the peak of all servers' memory is known. Of a server that was down only on this host it is left out.
func (w *windowProbe) peaksKnown() bool {
	for _, s := range w.servers {
		if s.server.Node().Remote && s.peak == 0 {
			return false
		}
	}
	return true
}
