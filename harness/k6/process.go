package k6

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

// process is the state that the VUs of one k6 process share. It is safe for concurrent use.
type process struct {
	// live ends with the test. Sessions use it, because they outlive the context of an iteration.
	live context.Context
	end  context.CancelFunc

	beginning sync.Once
	routes    sync.Map  // ledger.Routes known to account
	stdin     io.Reader // the harness's commands

	mu      sync.Mutex
	lookup  func(string) (string, bool) // looks up environment variables
	failure error                       // if not nil, the extension cannot be used
	control *control                    // nil without the harness
	plan    *k6run.Plan                 // nil without the harness
	wanted  *wantedLoad                 // load of the script; nil before load() is called
	meter   *load.Meter                 // nil before the first call
	account *ledger.Ledger
	pools   []*pool
	metrics *metrics
	samples chan<- k6api.SampleContainer // nil before the first call
	root    *k6api.TagSet
	logger  logrus.FieldLogger
	share   float64 // share of the load; 0 before it begins
	name    string  // unique among the processes of the test

	finished bool
}

// wantedLoad has the options of load().
type wantedLoad struct {
	workload scenario.Workload
	phases   scenario.Phases
}

func newProcess() *process {
	p := &process{lookup: os.LookupEnv, stdin: os.Stdin}
	p.live, p.end = context.WithCancel(context.Background())
	return p
}

// initialise sets up the process from a VU's init context. Only the first call has an effect. It
// returns an error if the extension cannot be used.
func (p *process) initialise(vu k6api.VU) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	env := vu.InitEnv()
	if env == nil || p.metrics != nil {
		return p.failure
	}
	if env.LookupEnv != nil {
		p.lookup = env.LookupEnv
	}
	p.logger, p.root = env.Logger, env.Registry.RootTagSet()
	perS, err := samplesPerS(p.lookup)
	p.metrics = registerMetrics(env.Registry, perS)
	if answers, given := p.lookup(k6run.ControlEnv); given && answers != "" && err == nil {
		p.plan, err = p.serve(answers)
	}
	if p.failure = err; err != nil {
		return err
	}
	if global := vu.Events().Global; global != nil {
		_, events := global.Subscribe(k6api.TestEnd)
		go func() {
			for event := range events {
				p.fail(p.finish())
				event.Done()
			}
		}()
	}
	return nil
}

// fail logs an error and makes the extension unusable. It ignores nil.
func (p *process) fail(err error) {
	if err == nil {
		return
	}
	p.logger.WithError(err).Error("prony")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = errors.Join(p.failure, err)
}

// want stores the script's load. All VUs must pass the same load.
func (p *process) want(w *wantedLoad) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.meter != nil && p.wanted == nil:
		return errors.New("call it in the init context, before the first task is sent")
	case p.wanted != nil && !reflect.DeepEqual(p.wanted, w):
		return errors.New("it was already called with other options: a process has one load, the same for all VUs")
	}
	p.wanted = w
	return nil
}

// finish closes the ledger after teardown. It adds samples of the fault counters, including zeros,
// and sends the outcome to the harness or writes it to the file in OutcomeEnv.
func (p *process) finish() error {
	defer p.end()
	p.mu.Lock()
	meter, finished := p.meter, p.finished
	p.finished = true
	p.mu.Unlock()
	if finished {
		return nil
	}
	var errs []error
	if meter != nil {
		meter.Finish()
		outcome, balance := meter.Outcome(), p.account.Balance()
		p.sampleBalance(outcome, balance)
		p.end()
		errs = append(errs, meter.Close(), p.report(outcome, balance))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pool := range p.pools {
		errs = append(errs, pool.close())
	}
	return errors.Join(errs...)
}
