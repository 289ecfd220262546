package k6

import (
	"time"

	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

// meter returns the meter for a call. The first call of a VU begins the load. Calls of setup do
// not, so that the load's window does not include the time of setup.
func (i *instance) meter() (*load.Meter, error) {
	meter, err := i.process.theMeter()
	if err == nil && !i.aside() {
		err = i.process.begin(shareOf(i.vu.State()), i.name())
	}
	return meter, err
}

// aside reports whether this is setup or teardown, which have no VU number in k6.
func (i *instance) aside() bool { return i.vu.State().VUID == 0 }

// shareOf returns this process's share of the load, above 0 and up to 1.
func shareOf(state *k6api.State) float64 {
	if segment := state.Options.ExecutionSegment; segment != nil {
		return segment.FloatLength()
	}
	return 1
}

// theMeter returns the meter, which the first call creates.
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
		cfg.Epoch = time.Now() // without a load, the window has no end
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

// begin begins the load once. Under `prony run` the harness sets the time.
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

func (p *process) tryBegin(share float64) (err error) {
	at := time.Now()
	if p.control != nil {
		if at, err = p.control.awaitBegin(p.live); err != nil {
			return err
		}
	}
	p.meter.Begin(at, share)
	return nil
}
