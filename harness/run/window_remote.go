package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// Metrics of a server about its own process.
const (
	cpuSecondsMetric = "process_cpu_seconds_total"
	rssMetric        = "process_resident_memory_bytes"
	fdsMetric        = "process_open_fds"
)

// remoteEvery is the interval between two readings of a server on another host. It is long because
// each reading costs the server CPU time.
const remoteEvery = time.Second

// usageOf returns the resource usage that a server on another host reports. The time of the sample
// is at, which is a time of this host's clock, because the clocks of two hosts are not comparable.
func usageOf(m observe.Metrics, at time.Time) (observe.Usage, error) {
	cpu, has := m.Values[cpuSecondsMetric]
	if !has {
		return observe.Usage{}, fmt.Errorf("the server does not report %s", cpuSecondsMetric)
	}
	return observe.Usage{CPU: time.Duration(cpu * float64(time.Second)), At: at}, nil
}

// sampleRemote reads the resource usage so far of a server on another host. The time of the sample
// is the middle of the request.
func (s *serverProbe) sampleRemote(ctx context.Context) (observe.Usage, error) {
	began := time.Now()
	m, err := observe.ScrapeAll(ctx, s.admin)
	if err != nil {
		return observe.Usage{}, err
	}
	return usageOf(m, began.Add(time.Since(began)/2))
}

// remoteWatch samples the servers on other hosts during a window and records the maximum figures.
type remoteWatch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// watchRemote starts one goroutine for each server on another host. Until stop is called, only that
// goroutine writes to the server's processWatch. stop does not cancel the context of the first
// reading, so that even a short window has figures.
func watchRemote(first context.Context, servers serverProbes, into []*processWatch) *remoteWatch {
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

func (w *remoteWatch) stop() {
	if w != nil {
		w.cancel()
		w.done.Wait()
	}
}

// sampleRemote updates the maximums. It ignores figures that cannot be read, for example while a
// server is down.
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

// sampleRemoteAfter reads the resource usage of a server on another host at the end of the window.
// The CPU time is unknown if the server was restarted.
func (s *serverProbe) sampleRemoteAfter(ctx context.Context) {
	after, err := s.sampleRemote(ctx)
	switch {
	case s.server.Node() != s.first:
		err = errors.New("it was restarted in the window")
	case s.cpuUnknown != nil:
		err = s.cpuUnknown
	}
	s.cpuUnknown = err
	if err != nil {
		s.warn("its CPU time is unknown: %v", err)
		return
	}
	s.spent = after.Since(s.before)
}

// readRemotePeak sets the server's peak memory to the maximum of the readings. A peak between two
// readings is missed.
func (s *serverProbe) readRemotePeak(watched *processWatch) {
	if !watched.rssKnown {
		s.warn("it does not report %s: its memory is missing from %s", rssMetric, result.ServerRSSMBMax)
		return
	}
	s.peak = watched.rss
}

// remoteProcs returns the total number of CPUs that the servers on other hosts may use. It returns
// 0 if the number is unknown for any of these hosts.
func remoteProcs(cluster *topology.Cluster) (procs int) {
	for _, h := range cluster.Hosts() {
		if h.GOMAXPROCS == 0 {
			return 0
		}
		procs += h.GOMAXPROCS
	}
	return procs
}

// peaksKnown reports whether the peak memory of all servers on other hosts is known. A server on
// this host whose peak is unknown because it was down does not matter: it is left out of the sum.
func (p serverProbes) peaksKnown() bool {
	for _, s := range p {
		if s.server.Node().Remote && s.peak == 0 {
			return false
		}
	}
	return true
}
