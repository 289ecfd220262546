package run

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// scraper reads the metrics of all servers at equal intervals during a window, as a monitoring
// system does, and discards them. Its goroutine ends when it is stopped or a reading fails. It
// writes scrapes and err before it closes done. Other goroutines may read them only after done is
// closed.
type scraper struct {
	every    time.Duration // 0 if no metrics are read
	cluster  *topology.Cluster
	observed *result.Observed // of the round; nil if nothing observes it

	cancel  context.CancelFunc // nil until the scraper is started
	done    chan struct{}
	scrapes uint64
	err     error
}

// start starts the scraper. The first reading is one interval after began, the start of the window.
func (s *scraper) start(ctx context.Context, began time.Time) error {
	if s.every == 0 {
		return nil
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		for next := began.Add(s.every); ; next = next.Add(s.every) {
			timer := time.NewTimer(time.Until(next))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			if s.err = s.scrape(ctx, s.cluster); s.err != nil {
				return
			}
		}
	}()
	return nil
}

func (s *scraper) scrape(ctx context.Context, cluster *topology.Cluster) error {
	for _, server := range cluster.Servers() {
		if err := observe.ReadMetrics(ctx, admin(cluster, server)); err == nil {
			s.scrapes++
		} else if ctx.Err() == nil && server.Node().Running() {
			// If a server is down, the window continues.
			return fmt.Errorf("observe the servers: %w", err)
		}
	}
	return nil
}

func (s *scraper) stop(context.Context) error {
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	<-s.done
	return s.err
}

func (s *scraper) fill(m *measured) error {
	if m.round.Observed = s.observed; s.observed != nil {
		s.observed.Scrapes = s.scrapes
	}
	return nil
}
