package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// pruneEvery is after how many windows the results of old ones are looked at.
	pruneEvery = 32
	// cutMax is how many windows in a row may be cut short. Then the servers do not stay up long enough to measure anything.
	cutMax = 10
	// closeWithin bounds the stop of the servers.
	closeWithin = 2 * time.Minute
	// publishEvery is the shortest time between two accounts of a soak that goes on: judging takes up to some tenths of a second.
	publishEvery = 9 * time.Second
	// almost is by how much a soak may miss its measured time, since the lengths of windows are measured.
	almost = 50 * time.Millisecond
)

// Options say where and how a soak is measured.
type Options struct {
	Folder   string
	Scenario *scenario.Scenario // with a Soak
	For      time.Duration      // of measured time
	// Deploy starts the servers, or those that an earlier process left in dir, which belongs to the Stand.
	Deploy func(ctx context.Context, dir string) (Stand, error)
	// Say tells a person of what happens seldom. Step and Publish get what is known after a window, but not after each where windows are
	// shorter than publishEvery. All three are called from one goroutine.
	Say     func(format string, args ...any)
	Step    func(Status)
	Publish func(Status)

	now   func() time.Time // nil: the clock's
	every time.Duration    // from one publication to the next; 0: publishEvery
}

// Status is a soak while it goes on. Who gets one must not change it.
type Status struct {
	Soak   *result.Soak
	Latest *Window       // the newest window; nil before one was measured by this process
	Left   time.Duration // until the end, drains included; an estimate
}

// Run measures a soak, or goes on with the one that is in the folder, until it has measured as long as it is to. It returns the result, which
// it has stored in the folder. If ctx ends, or if no further window can be measured, Run stops the servers, keeps their data, and returns the
// result so far with an error: the same call goes on later.
func Run(ctx context.Context, o Options) (_ *result.Soak, err error) {
	if o.now == nil {
		o.now = time.Now
	}
	f, err := openFolder(o.Folder, o.Scenario, o.now())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	r := &runner{Options: o, folder: f}
	r.greet()
	if restored, err := f.restore(); err != nil {
		return nil, err
	} else if restored {
		o.Say("%s: window %d had been measured when the last prony ended, and is counted now", o.Scenario.Name, f.rows.last())
	}
	measureErr := r.measureAll(ctx)
	soak, err := f.account(o.Scenario, o.For)
	if err != nil {
		return nil, errors.Join(measureErr, err)
	}
	if measureErr != nil {
		r.publish(soak, nil)
		return soak, errors.Join(measureErr, f.writePage(soak, r.left(soak)))
	}
	soak.Finished = o.now().UTC()
	r.publish(soak, nil)
	return soak, errors.Join(f.writePage(soak, 0), result.WriteSoak(f.path, soak))
}

type runner struct {
	Options

	folder    *folder
	began     time.Time // of the first window of this process
	done      int       // windows of this process
	published time.Time
}

func (r *runner) greet() {
	name, f := r.Scenario.Name, r.folder
	measured := time.Duration(f.rows.measuredS() * float64(time.Second)).Round(time.Second)
	if !f.resumed {
		r.Say("%s: %s in windows of %s, in the folder %s", name, r.For, r.Scenario.Phases.Window, f.path)
		return
	}
	r.Say("%s: goes on in the folder %s after %s of %s, %s", name, f.path, measured, r.For, render.Plural(f.rows.last(), "window"))
	if f.rows.torn {
		r.Say("%s: the row of the last window was cut and is dropped", name)
	}
}

// measureAll measures windows until there are enough, and stops the servers.
func (r *runner) measureAll(ctx context.Context) (err error) {
	if r.enough() { // the last process ended between its last window and its result
		return nil
	}
	stand, err := r.Deploy(ctx, r.folder.file(serversDir))
	if err != nil {
		return fmt.Errorf("start the servers: %w", err)
	}
	defer func() {
		// Not ctx: servers are stopped in order after an interrupt too.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		if closeErr := stand.Close(closing, err != nil); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("stop the servers: %w", closeErr))
		}
	}()
	if err := r.folder.describe(stand.Manifest()); err != nil {
		return err
	}
	w, found, err := stand.Recover(ctx)
	if err != nil {
		return fmt.Errorf("close the account of the window that was under way: %w", err)
	}
	if found {
		if err := r.recovered(&w); err != nil {
			return err
		}
	}
	return r.windows(ctx, stand)
}

// recovered keeps the window that the last process did not finish, unless its row is there: the process ended just after it.
func (r *runner) recovered(w *Window) error {
	last := r.folder.rows.last()
	if w.Number != 0 && w.Number <= last {
		return nil
	}
	w.Number, w.Cut = last+1, true
	w.Events = append(w.Events, fmt.Sprintf("the harness ended in window %d, whose account was closed when it went on", w.Number))
	r.Say("%s: %s", r.Scenario.Name, w.Events[len(w.Events)-1])
	return r.folder.store(w)
}

func (r *runner) enough() bool {
	return time.Duration(r.folder.rows.measuredS()*float64(time.Second)) >= r.For-almost
}

func (r *runner) windows(ctx context.Context, stand Stand) error {
	r.began = r.now()
	cut := 0
	for !r.enough() {
		if err := ctx.Err(); err != nil {
			return err
		}
		number := r.folder.rows.last() + 1
		w, err := stand.Measure(ctx, number, r.Scenario.Soak.HasFaults(number))
		if err != nil {
			return fmt.Errorf("window %d: %w", number, err)
		}
		w.Number, w.Faults = number, r.Scenario.Soak.HasFaults(number)
		if err := r.folder.store(&w); err != nil {
			return err
		}
		for _, event := range w.Events {
			r.Say("%s: window %d: %s", r.Scenario.Name, number, event)
		}
		if cut++; !w.Cut {
			cut = 0
		}
		if cut == cutMax {
			return fmt.Errorf("%d windows in a row were cut short, the last with: %v: the servers do not stay up", cut, w.Events)
		}
		r.done++
		if r.done%pruneEvery == 1 {
			if err := r.folder.prune(r.Scenario.Soak.Keep, r.now()); err != nil {
				return err
			}
		}
		if err := r.publishNow(&w); err != nil {
			return err
		}
	}
	return nil
}

// publishNow publishes what there is after a window, unless the last time is a moment ago.
func (r *runner) publishNow(w *Window) error {
	now := r.now()
	if now.Sub(r.published) < cmp.Or(r.every, publishEvery) {
		return nil
	}
	r.published = now
	soak, err := r.folder.account(r.Scenario, r.For)
	if err != nil {
		return err
	}
	r.publish(soak, w)
	return r.folder.writePage(soak, r.left(soak))
}

func (r *runner) publish(soak *result.Soak, latest *Window) {
	status := Status{Soak: soak, Latest: latest, Left: r.left(soak)}
	r.Step(status)
	r.Publish(status)
}

// left estimates how long the rest takes, by the windows of this process.
func (r *runner) left(soak *result.Soak) time.Duration {
	windows := r.Scenario.SoakWindows(max(0, r.For-time.Duration(soak.MeasuredS*float64(time.Second))-almost))
	each := r.Scenario.Phases.Window
	if r.done > 0 {
		each = r.now().Sub(r.began) / time.Duration(r.done)
	}
	return time.Duration(windows) * each
}
