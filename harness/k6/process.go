package k6

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/pronybench/prony/harness/k6/control"
	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

// process is what the VUs of one k6 process share. It is safe for concurrent use.
type process struct {
	// live ends with the test. Sessions go by it: an iteration's context ends too early for them.
	live context.Context
	end  context.CancelFunc

	watch     sync.Once // subscribes to the test's end
	beginning sync.Once
	routes    sync.Map // the ledger.Routes that the account knows

	mu      sync.Mutex
	lookup  func(string) (string, bool) // of environment variables
	failure error                       // why the extension can't be used
	plan    *k6run.Plan                 // what `prony run` wants; nil of a script that runs on its own
	wanted  *wantedLoad                 // what the script asked for; nil where it did not
	meter   *load.Meter                 // nil before the first call
	account *ledger.Ledger
	control *control.Conn // nil before the load begins, and of a script that runs on its own
	pools   []*pool
	metrics *metrics
	samples chan<- k6api.SampleContainer // nil before the first call
	root    *k6api.TagSet
	logger  logrus.FieldLogger
	beat    sync.WaitGroup // reports progress
	share   float64        // of the load; 0 before it begins
	name    string         // that no other process of the test has

	finished bool
}

// wantedLoad is what load() says.
type wantedLoad struct {
	workload scenario.Workload
	phases   scenario.Phases
}

func newProcess() *process {
	p := &process{lookup: os.LookupEnv}
	p.live, p.end = context.WithCancel(context.Background())
	return p
}

// initialise takes what a VU has while its script is read, and returns why the extension can't be
// used, if so.
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
	if err == nil {
		p.metrics, err = registerMetrics(env.Registry, perS)
	}
	if err != nil {
		p.failure = err
		return err
	}
	if p.plan, err = control.ReadPlan(p.lookup); err != nil {
		p.failure = err
		return err
	}
	if global := vu.Events().Global; global != nil {
		p.watch.Do(func() {
			_, events := global.Subscribe(k6api.TestEnd)
			go func() {
				for event := range events {
					p.fail(p.finish())
					event.Done()
				}
			}()
		})
	}
	return nil
}

// fail notes why the extension can't be used, and says so.
func (p *process) fail(err error) {
	if err == nil {
		return
	}
	p.logger.WithError(err).Error("prony")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = errors.Join(p.failure, err)
}

// want takes what the script says that its load is. All VUs say the same.
func (p *process) want(w *wantedLoad) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.meter != nil && p.wanted == nil:
		return errors.New("call it in the init context, before the first task is sent")
	case p.wanted != nil && !reflect.DeepEqual(p.wanted, w):
		return errors.New("it was called before with other options: a process has one load, the same for all VUs")
	}
	p.wanted = w
	return nil
}

// finish closes the account after teardown: the counts of what went wrong are samples also where
// they are 0, and the harness gets the outcome.
func (p *process) finish() error {
	defer p.end()
	p.mu.Lock()
	meter, account, conn, finished := p.meter, p.account, p.control, p.finished
	instance := k6run.Instance{Version: k6run.Version, Name: p.name, Share: p.share}
	if p.wanted != nil {
		instance.Arrivals, instance.Phases = p.wanted.workload.Arrivals, p.wanted.phases
	}
	p.finished = true
	p.mu.Unlock()
	if finished {
		return nil
	}
	if meter == nil {
		return p.closePools()
	}
	meter.Finish()
	outcome, balance := meter.Outcome(), account.Balance()
	p.sampleBalance(outcome, balance)
	p.end()
	p.beat.Wait()
	errs := []error{meter.Close()}
	if conn != nil {
		errs = append(errs, conn.Outcome(outcome, balance), conn.Close())
	} else if path, given := p.lookup(k6run.OutcomeEnv); given && path != "" {
		errs = append(errs, writeInstance(path, instance, outcome, balance))
	}
	return errors.Join(append(errs, p.closePools())...)
}

func (p *process) closePools() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, pool := range p.pools {
		errs = append(errs, pool.close())
	}
	return errors.Join(errs...)
}
