package k6

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// meter returns the meter for a call. The first call of a VU begins the load. Calls of setup do
// not, so that the load's window does not include the time of setup.
func (i *instance) meter() (*load.Meter, error) {
	meter, err := i.process.theMeter()
	if err == nil && !i.aside() {
		err = i.process.begin(i)
	}
	return meter, err
}

// aside reports whether this is setup or teardown, which have no VU number in k6.
func (i *instance) aside() bool { return i.vu.State().VUID == 0 }

// instanceEnv names this load host. The default is derived from k6's execution segment.
const instanceEnv = "PRONY_INSTANCE"

// name implements the script's instance(): a name of this load host that no other one has. It is
// valid in a queue's name.
func (i *instance) name() string {
	if name := i.process.env(instanceEnv, ""); name != "" {
		return name
	}
	if i.inInit() {
		i.throw(mistake("instance", errors.New(
			"k6 does not provide its execution segment in the init context: call it in setup or in a VU's function, or set "+instanceEnv)))
	}
	if segment := i.vu.State().Options.ExecutionSegment; segment != nil {
		return "i" + segment.String()
	}
	return "i0"
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

// begin begins the load once, with this process's share of it. Under `prony run` the harness sets
// the time.
func (p *process) begin(i *instance) error {
	p.beginning.Do(func() {
		share, name := 1.0, i.name()
		if segment := i.vu.State().Options.ExecutionSegment; segment != nil {
			share = segment.FloatLength()
		}
		p.mu.Lock()
		p.share, p.name = share, name
		p.mu.Unlock()
		at, err := time.Now(), error(nil)
		if p.control != nil {
			at, err = p.control.awaitBegin(p.live)
		}
		if p.fail(err); err == nil {
			p.meter.Begin(at, share)
		}
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// report sends the measurements of this process to the harness. Without it, report writes them to
// the file in OutcomeEnv for `prony k6 fold`. It then fails without a load, because the processes
// would have no common window.
func (p *process) report(outcome *load.Outcome, balance result.Ledger) error {
	path := p.env(k6run.OutcomeEnv, "")
	p.mu.Lock()
	i := k6run.Instance{Version: k6run.Version, Name: p.name, Share: p.share}
	if p.wanted != nil {
		i.Arrivals, i.Phases = p.wanted.workload.Arrivals, p.wanted.phases
	}
	p.mu.Unlock()
	switch {
	case p.control != nil && i.Share == 0, p.control == nil && path == "":
		return nil // the load has not begun, or nobody asks for the measurements
	case p.control == nil && i.Phases.Window == 0:
		return fmt.Errorf("%s is set, but the script has no load: call load(), or unset it", k6run.OutcomeEnv)
	}
	encoded, err := k6run.Encode(outcome, balance)
	if err != nil {
		return err
	}
	if p.control != nil {
		p.control.report(encoded)
		return nil
	}
	i.Outcome = *encoded
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the outcome to the file in %s: %w", k6run.OutcomeEnv, err)
	}
	return nil
}
