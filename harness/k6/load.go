package k6

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

// Defaults and bounds of load that differ from those of a scenario's workload, or that a workload
// does not have.
const (
	sizeDefault     = 64
	inFlightDefault = 100_000
	drainDefault    = 30 * time.Second
	rateMax         = 100_000_000
	phaseMax        = 30 * 24 * time.Hour
)

// workloadLease is the lease of a scenario's workload.
var workloadLease = scenario.WorkloadDuration("lease")

// workloadInt returns the function of an option that has the bounds of an attribute of a scenario's
// workload. 0 is not allowed, and each of most is a further bound.
func workloadInt(attribute string, most ...int) func(*wantedLoad, options.Value) error {
	of := scenario.WorkloadInt(attribute)
	most = append(most, of.Max)
	return func(l *wantedLoad, v options.Value) error {
		return v.IntInto(of.Field(&l.workload), int64(max(1, of.Min)), int64(slices.Min(most)))
	}
}

var loadTable = options.Table[wantedLoad]{
	"tenants":   workloadInt("tenants"),
	"queues":    workloadInt("queues", queuesMax), // a worker can claim from all of them
	"producers": workloadInt("producers"),
	"workers":   workloadInt("workers"),
	"batch":     workloadInt("batch", tasksMax),
	"size": func(l *wantedLoad, v options.Value) error {
		err := v.IntInto(&l.workload.Payload.Max, ledger.HeaderSize, payloadMax)
		l.workload.Payload.Min = l.workload.Payload.Max
		return err
	},
	"arrivals": readArrivals,
	"inFlight": workloadInt("in_flight"),
	"lease": func(l *wantedLoad, v options.Value) (err error) {
		l.workload.Lease, err = v.Duration(workloadLease.Min, workloadLease.Max)
		return err
	},
	"warmup": func(l *wantedLoad, v options.Value) (err error) {
		l.phases.Warmup, err = v.Duration(0, phaseMax)
		return err
	},
	"window": func(l *wantedLoad, v options.Value) (err error) {
		l.phases.Window, err = v.Duration(time.Millisecond, phaseMax)
		return err
	},
	"drain": func(l *wantedLoad, v options.Value) (err error) {
		l.phases.Drain, err = v.Duration(0, phaseMax)
		return err
	},
}

// arrivalsOptions are the options of arrivals.
type arrivalsOptions struct {
	rate, from, to, burst float64
	over, every, length   time.Duration
}

func rateInto(into *float64, v options.Value) (err error) {
	*into, err = v.Number(rateMax)
	return err
}

func lengthInto(into *time.Duration, v options.Value) (err error) {
	*into, err = v.Duration(time.Millisecond, 24*time.Hour)
	return err
}

var arrivalsTable = options.Table[arrivalsOptions]{
	"rate":   func(a *arrivalsOptions, v options.Value) error { return rateInto(&a.rate, v) },
	"from":   func(a *arrivalsOptions, v options.Value) error { return rateInto(&a.from, v) },
	"to":     func(a *arrivalsOptions, v options.Value) error { return rateInto(&a.to, v) },
	"burst":  func(a *arrivalsOptions, v options.Value) error { return rateInto(&a.burst, v) },
	"over":   func(a *arrivalsOptions, v options.Value) error { return lengthInto(&a.over, v) },
	"every":  func(a *arrivalsOptions, v options.Value) error { return lengthInto(&a.every, v) },
	"length": func(a *arrivalsOptions, v options.Value) error { return lengthInto(&a.length, v) },
}

// readArrivals reads 'closed' or a schedule of arrivals.
func readArrivals(l *wantedLoad, v options.Value) error {
	if text, err := v.Text(); err == nil {
		if text != scenario.Closed {
			return v.Fault("pass 'closed', or { rate: 100 }")
		}
		return nil
	}
	var a arrivalsOptions
	if err := arrivalsTable.ReadField(v, &a); err != nil {
		return err
	}
	to := &l.workload.Arrivals
	switch a {
	case arrivalsOptions{rate: a.rate}:
		*to = scenario.Arrivals{Kind: scenario.Open}
	case arrivalsOptions{from: a.from, to: a.to, over: a.over}:
		*to = scenario.Arrivals{Kind: scenario.Ramp, Over: a.over}
		a.rate, a.burst = a.from, a.to
	case arrivalsOptions{rate: a.rate, burst: a.burst, every: a.every, length: a.length}:
		*to = scenario.Arrivals{Kind: scenario.Burst, Every: a.every, Over: a.length}
	}
	to.Rate.PerSecond, to.To.PerSecond = a.rate, a.burst
	missing := a.rate == 0 || to.Kind != scenario.Open && (a.burst == 0 || to.Over == 0) || to.Kind == scenario.Burst && to.Every <= to.Over
	if missing {
		return v.Fault("pass { rate }, { from, to, over }, or { rate, burst, every, length } with a length below every")
	}
	return nil
}

// loadHandle implements the script's load object.
type loadHandle struct {
	*instance
	wanted *wantedLoad
}

// load implements the script's function: it defines the load of the process.
func (i *instance) load(from sobek.Value) *sobek.Object {
	const call = "load"
	if i.failure != nil {
		i.throw(failed(call, i.failure))
	}
	w := &wantedLoad{
		workload: scenario.Workload{
			Tenants: 1, Queues: 1, Producers: 1, Workers: 1, Batch: 1, Lease: workloadLease.Default, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
			Payload: scenario.Payload{Kind: "fixed", Min: sizeDefault, Max: sizeDefault},
		},
		phases: scenario.Phases{Drain: drainDefault},
	}
	if err := loadTable.Read(i.vu.Runtime(), call, from, w); err != nil {
		i.throw(err)
	}
	if w.phases.Window == 0 && i.process.plan == nil {
		i.throw(&options.Error{Call: call, Field: "window", Remedy: "pass the time for sending tasks, such as '10s'"})
	}
	if w.workload.Arrivals.Timed() && w.workload.InFlight == 0 {
		w.workload.InFlight = inFlightDefault
	}
	if !i.inInit() {
		i.throw(mistake(call, fmt.Errorf("call it in the init context, outside of all functions")))
	}
	if err := i.process.want(w); err != nil {
		i.throw(failed(call, err))
	}
	l := &loadHandle{instance: i, wanted: w}
	if p := i.process.plan; p != nil {
		l.wanted = &wantedLoad{workload: p.Workload, phases: p.Phases}
	}
	return l.object()
}

func (l *loadHandle) object() *sobek.Object {
	w, p := l.wanted.workload, l.wanted.phases
	tenants, queues := make([]any, w.Tenants), make([]any, w.Queues)
	for t := range tenants {
		tenants[t] = load.TenantName(w.FirstTenant + t)
	}
	for q := range queues {
		queues[q] = load.QueueName(q)
	}
	rt := l.vu.Runtime()
	return l.instance.object(map[string]any{
		"tenants":   rt.NewArray(tenants...),
		"queues":    rt.NewArray(queues...),
		"producers": w.Producers,
		"workers":   w.Workers,
		"batch":     w.Batch,
		"size":      w.Payload.Max,
		"lease":     w.Lease.Milliseconds(),
		"sending":   inMillis(p.Warmup + p.Window),
		"whole":     inMillis(p.Warmup + p.Window + p.Drain),
		"next":      l.next,
		"done":      l.done,
	})
}

// inMillis formats a duration for k6's options.
func inMillis(d time.Duration) string {
	return fmt.Sprintf("%dms", int64(math.Ceil(d.Seconds()*1e3)))
}

// next implements the script's method: it waits until tasks are due.
func (l *loadHandle) next(n sobek.Value) *sobek.Promise {
	const call = "load.next"
	count := l.wanted.workload.Batch
	if n != nil && !sobek.IsUndefined(n) {
		if count = int(n.ToInteger()); count < 1 || count > tasksMax {
			return l.refused(&options.Error{Call: call, Field: "n", Value: n.String(), Remedy: fmt.Sprintf("pass 1 to %d", tasksMax)})
		}
	}
	switch {
	case l.inInit():
		return l.refused(mistake(call, errInit))
	case l.aside():
		return l.refused(mistake(call, errAside))
	}
	meter, err := l.meter()
	if err != nil {
		return l.refused(failed(call, err))
	}
	return l.later(call, 0, func(ctx context.Context) (func() any, error) {
		at, err := meter.Next(ctx, count)
		if err != nil {
			return nil, err
		}
		return func() any {
			if len(at) == 0 {
				return sobek.Null()
			}
			return &Due{Length: len(at), at: at}
		}, nil
	})
}

// done implements the script's method.
func (l *loadHandle) done() bool {
	meter, err := l.meter()
	if err != nil {
		l.throw(failed("load.done", err))
	}
	return meter.Done()
}
