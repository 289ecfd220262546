package k6

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/k6/control"
	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

// meter returns the account for a call. The load begins with the first call that a VU makes: what
// setup does comes before it, and takes no time of it.
func (i *instance) meter() (*load.Meter, error) {
	meter, err := i.process.theMeter()
	if err == nil && !i.aside() {
		err = i.process.begin(shareOf(i.vu.State()), i.name())
	}
	return meter, err
}

// aside reports whether this is setup or teardown, which k6 gives no number.
func (i *instance) aside() bool { return i.vu.State().VUID == 0 }

// shareOf is how much of the load k6 gives to this process, above 0 and up to 1.
func shareOf(state *k6api.State) float64 {
	if segment := state.Options.ExecutionSegment; segment != nil {
		return segment.FloatLength()
	}
	return 1
}

// theMeter returns the account, which is made for the first call.
func (p *process) theMeter() (*load.Meter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil || p.meter != nil {
		return p.meter, p.failure
	}
	round := uint64(time.Now().UnixNano())
	cfg := load.MeterConfig{Workload: scenario.Workload{Batch: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed}}}
	switch {
	case p.plan != nil:
		round, cfg.Workload, cfg.Phases = p.plan.Round, p.plan.Workload, p.plan.Phases
	case p.wanted != nil:
		cfg.Workload, cfg.Phases = p.wanted.workload, p.wanted.phases
	default:
		cfg.Epoch = time.Now() // and its window has no end
	}
	p.account = ledger.New(round, load.SendersMax, nil)
	cfg.Ledger = p.account
	meter, err := load.NewMeter(p.live, cfg)
	if err != nil {
		return nil, err
	}
	p.meter = meter
	return meter, nil
}

// begin begins the load, once. Under `prony run` the harness says when.
func (p *process) begin(share float64, name string) error {
	p.beginning.Do(func() {
		p.mu.Lock()
		p.share, p.name = share, name
		p.mu.Unlock()
		p.fail(p.tryBegin(share))
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

func (p *process) tryBegin(share float64) error {
	if p.plan == nil {
		p.meter.Begin(time.Now(), share)
		return nil
	}
	path, given := p.lookup(k6run.ControlEnv)
	if !given {
		return fmt.Errorf("%s is set and %s is not: have `prony run` start k6, or unset both", k6run.PlanEnv, k6run.ControlEnv)
	}
	conn, err := control.Dial(p.live, path)
	if err != nil {
		return err
	}
	at, err := conn.Ready(p.live)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	p.mu.Lock()
	p.control = conn
	p.mu.Unlock()
	p.meter.Begin(at, share)
	p.beat.Go(func() { p.reportProgress(conn) })
	return nil
}

// progressEvery is the time between reports to the harness.
const progressEvery = 250 * time.Millisecond

func (p *process) reportProgress(to *control.Conn) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-p.live.Done():
			return
		}
		if to.Progress(p.meter.Progress()) != nil {
			return // the harness is gone, which finish says
		}
	}
}
