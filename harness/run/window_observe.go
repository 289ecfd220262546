package run

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// scraper reads the metrics of all servers at equal intervals during a window, as a monitoring
// system does, and discards them. Its goroutine ends when it is stopped or a reading fails. It
// writes scrapes and err before it closes done. Other goroutines may read them only after done is
// closed.
type scraper struct {
	cancel  context.CancelFunc
	done    chan struct{}
	scrapes uint64
	err     error
}

// startScraper starts the scraper. The first reading is one interval after began, the start of the
// window.
func startScraper(ctx context.Context, began time.Time, every time.Duration, cluster *topology.Cluster) *scraper {
	ctx, cancel := context.WithCancel(ctx)
	s := &scraper{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for next := began.Add(every); ; next = next.Add(every) {
			timer := time.NewTimer(time.Until(next))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			if s.err = s.scrape(ctx, cluster); s.err != nil {
				return
			}
		}
	}()
	return s
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

// stop ends the readings and returns how many were made. It may be called repeatedly, and on nil.
func (s *scraper) stop() (scrapes uint64, err error) {
	if s == nil {
		return 0, nil
	}
	s.cancel()
	<-s.done
	return s.scrapes, s.err
}

func (w *windowProbe) observes() bool { return w.kind == timed && w.observe != nil }

// captures returns the profiles to take in the window. A profiled round takes the profiles of the
// scenario, and an observed round those of the observe block.
func (w *windowProbe) captures() []scenario.Capture {
	switch {
	case w.kind == profiled:
		return w.scenario.Captures
	case w.observes():
		return w.observe.Captures()
	}
	return nil
}

func (w *windowProbe) observed(m *measured) {
	if !w.observes() {
		return
	}
	scrapes, _ := w.scraper.stop() // end has already returned the error
	m.round.Observed = &result.Observed{ScrapeS: w.observe.Scrape.Seconds(), Scrapes: scrapes}
	if len(w.profiled) > 0 {
		for _, c := range w.captures() {
			m.round.Observed.Profiles = append(m.round.Observed.Profiles, c.Kind)
		}
	}
}
