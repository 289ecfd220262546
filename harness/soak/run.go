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
	// pruneEvery is the number of windows after which old results are pruned.
	pruneEvery = 32
	// cutMax is the number of successive windows that may be cut short. After that the soak ends,
	// because the servers do not run long enough to measure anything.
	cutMax = 10
	// closeWithin bounds the time to stop the servers.
	closeWithin = 2 * time.Minute
	// publishEvery is the minimum interval between two publications of a running soak. It is long
	// because judging takes up to some tenths of a second.
	publishEvery = 9 * time.Second
	// almost is the tolerance of the measured time. The lengths of windows are measured, so their
	// sum may be slightly below the requested time.
	almost = 50 * time.Millisecond
)

// Options configures a soak.
type Options struct {
	Folder   string
	Scenario *scenario.Scenario // its Soak must not be nil
	For      time.Duration      // total time to measure
	// Deploy starts the servers. If an earlier process left servers in dir, Deploy resumes them.
	// Only the Stand uses dir.
	Deploy func(ctx context.Context, dir string) (Stand, error)
	// Say reports rare events to a person. Step and Publish receive the status after a window. They
	// are called at most once per publishEvery, and at the end. The same goroutine calls all three.
	Say     func(format string, args ...any)
	Step    func(Status)
	Publish func(Status)

	now   func() time.Time // nil selects time.Now
	every time.Duration    // interval between two publications; 0 means publishEvery
}

// Status is the status of a soak. Receivers must not modify it.
type Status struct {
	Soak   *result.Soak
	Latest *Window       // nil until this process has measured a window
	Left   time.Duration // estimated remaining time, including drains
}

// Run measures a soak until the requested time is measured. If the folder contains an unfinished
// soak, Run continues it. Run stores the result in the folder and returns it. If ctx is done or no
// further window can be measured, Run stops the servers, preserves their data, and returns the
// result so far and an error. The same call can then continue the soak later.
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
		o.Say("%s: the last prony ended before it counted window %d; the window counts now", o.Scenario.Name, f.rows.last())
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
	began     time.Time // start of the first window of this process
	done      int       // number of windows that this process has measured
	published time.Time
}

func (r *runner) greet() {
	name, f := r.Scenario.Name, r.folder
	measured := time.Duration(f.rows.measuredS() * float64(time.Second)).Round(time.Second)
	if !f.resumed {
		r.Say("%s: %s in windows of %s, in the folder %s", name, r.For, r.Scenario.Phases.Window, f.path)
		return
	}
	r.Say("%s: continues in the folder %s after %s of %s, %s", name, f.path, measured, r.For, render.Plural(f.rows.last(), "window"))
	if f.rows.torn {
		r.Say("%s: dropped the truncated row of the last window", name)
	}
}

// measureAll measures windows until the requested time is measured. It then stops the servers.
func (r *runner) measureAll(ctx context.Context) (err error) {
	// the previous process ended after its last window and before it stored the result
	if r.enough() {
		return nil
	}
	stand, err := r.Deploy(ctx, r.folder.file(serversDir))
	if err != nil {
		return fmt.Errorf("start the servers: %w", err)
	}
	defer func() {
		// This context is independent of ctx: the servers must also stop cleanly after an
		// interrupt.
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
		return fmt.Errorf("close the account of an interrupted window: %w", err)
	}
	if found {
		if err := r.recovered(&w); err != nil {
			return err
		}
	}
	return r.windows(ctx, stand)
}

// recovered stores the window that the previous process did not finish. If the window already has a
// row, that process ended just after it had stored the row, and recovered does nothing.
func (r *runner) recovered(w *Window) error {
	last := r.folder.rows.last()
	if w.Number != 0 && w.Number <= last {
		return nil
	}
	w.Number, w.Cut = last+1, true
	w.Events = append(w.Events, fmt.Sprintf("the harness ended in window %d; the account of the window was closed on the next start", w.Number))
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
			return fmt.Errorf("%d successive windows were cut short, the last with: %v: the servers do not stay up", cut, w.Events)
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

// publishNow publishes the result so far after a window. It does nothing if the last publication is
// recent.
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

// left estimates the remaining time from the duration of the windows that this process has
// measured.
func (r *runner) left(soak *result.Soak) time.Duration {
	windows := r.Scenario.SoakWindows(max(0, r.For-time.Duration(soak.MeasuredS*float64(time.Second))-almost))
	each := r.Scenario.Phases.Window
	if r.done > 0 {
		each = r.now().Sub(r.began) / time.Duration(r.done)
	}
	return time.Duration(windows) * each
}
