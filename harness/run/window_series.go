package run

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// series samples a window at equal intervals. Its goroutine ends after the last sample, after an
// error, or when it is stopped. It writes samples and err before it closes done. Other goroutines
// may read them only after done is closed.
type series struct {
	every   time.Duration // interval between the samples; 0 without a series
	n       int           // number of samples
	cluster *topology.Cluster
	counted func() count

	cancel  context.CancelFunc // nil until the series is started
	done    chan struct{}
	samples []result.Sample
	err     error
}

// start starts the series. The first sample is taken one interval after began, the start of the
// window.
func (s *series) start(ctx context.Context, began time.Time) error {
	if s.every == 0 {
		return nil
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.done = make(chan struct{})
	before := s.counted()
	go func() {
		defer close(s.done)
		for i := 1; i <= s.n; i++ {
			timer := time.NewTimer(time.Until(began.Add(time.Duration(i) * s.every)))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				s.err = fmt.Errorf("the series has %d of %d samples: %w", i-1, s.n, ctx.Err())
				return
			}
			at, now := time.Now(), s.counted()
			sample := result.Sample{AtS: at.Sub(began).Seconds(), CyclesPerS: now.perSecondSince(before)}
			if s.err = observeServers(&sample, s.cluster); s.err != nil {
				return
			}
			s.samples = append(s.samples, sample)
			before = now
		}
	}()
	return nil
}

func observeServers(sample *result.Sample, cluster *topology.Cluster) error {
	for _, s := range cluster.Servers() {
		n := s.Node()
		rss, err := observe.RSS(n.PID)
		if err != nil && n.Running() {
			return err
		}
		disk, err := observe.DiskUse(s.DataDir())
		if err != nil {
			return err
		}
		sample.ServerRSSMB += float64(rss) / 1e6
		sample.DiskMB += float64(disk) / 1e6
	}
	return nil
}

// stop waits for all samples. When ctx is done, it cancels the remaining samples.
func (s *series) stop(ctx context.Context) error {
	if s.cancel == nil {
		return nil
	}
	defer s.cancel()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.cancel()
		<-s.done
	}
	return s.err
}

func (s *series) fill(m *measured) error {
	m.round.Series = s.samples
	return nil
}
