// Package fold combines the measurements of several k6 processes into one result. Each process must
// have run a part of the same load.
//
// Read reads the file of an instance. Fold adds up the accounts and merges the histograms; it never
// averages percentiles. An account that does not balance, in one instance or in total, makes the
// verdict incorrect. Parts that do not belong to one load are an error.
package fold

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/result"
)

// fileBytesMax is the maximum size of an instance's file. It is far above the size of the
// histograms.
const fileBytesMax = 64 << 20

// shareError is the tolerated difference between the total share of all instances and the whole
// load.
const shareError = 1e-6

// Folded is one load that several instances generated.
type Folded struct {
	Verdict   result.Verdict     `json:"verdict"`
	Reasons   []string           `json:"reasons,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`
	WindowS   float64            `json:"window_s"`
	Instances []Part             `json:"instances"` // sorted by name
	Cycles    uint64             `json:"cycles"`    // completed in the windows
	Metrics   map[string]float64 `json:"metrics"`
	Arrivals  *result.Arrivals   `json:"arrivals,omitempty"` // of an open load
	Ledger    result.Ledger      `json:"ledger"`
	// Histograms are the merged histograms of all instances, in the encoding of a result.
	Histograms map[string]string `json:"histograms"`
}

// Part is the contribution of one instance.
type Part struct {
	Name       string  `json:"name"`
	Share      float64 `json:"share"` // of the load
	Cycles     uint64  `json:"cycles"`
	CyclesPerS float64 `json:"cycles_per_s"`
	Enqueued   uint64  `json:"enqueued"`
	Completed  uint64  `json:"completed"`
}

// Read reads the measurement of an instance from its file.
func Read(path string) (*k6run.Instance, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read an outcome: %w: %s names the file of each instance", err, k6run.OutcomeEnv)
	case info.Size() > fileBytesMax:
		return nil, fmt.Errorf("read an outcome: %s is larger than %d MiB: it is not the file of an instance", path, fileBytesMax>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read an outcome: %w", err)
	}
	i := &k6run.Instance{}
	if err := json.Unmarshal(text, i); err != nil {
		return nil, fmt.Errorf("read an outcome: %s is not the file of an instance: %w", path, err)
	}
	switch {
	case i.Version != k6run.Version:
		return nil, fmt.Errorf("read an outcome: %s has version %d, but this prony reads %d: build prony and k6 from the same commit", path, i.Version, k6run.Version)
	case i.Name == "" || i.Phases.Window <= 0 || !(i.Share > 0 && i.Share <= 1):
		return nil, fmt.Errorf("read an outcome: %s lacks its name, its window or its share of the load", path)
	}
	return i, nil
}

// Fold combines all instances of a load into one result.
func Fold(instances []*k6run.Instance) (*Folded, error) {
	if len(instances) == 0 {
		return nil, errors.New("fold: there is no instance")
	}
	all := slices.SortedFunc(slices.Values(instances), func(a, b *k6run.Instance) int { return strings.Compare(a.Name, b.Name) })
	if err := check(all); err != nil {
		return nil, fmt.Errorf("fold: %w", err)
	}
	f := &Folded{Verdict: result.Pass, WindowS: all[0].Phases.Window.Seconds()}
	var histograms []result.Histograms
	for _, i := range all {
		h, err := result.DecodeHistograms(i.Outcome.Histograms)
		if err != nil {
			return nil, fmt.Errorf("fold: the histograms of %s: %w", i.Name, err)
		}
		histograms = append(histograms, h)
		f.add(i)
	}
	f.balance()
	merged, err := result.Merge(histograms...)
	if err != nil {
		return nil, fmt.Errorf("fold: %w", err)
	}
	if f.Histograms, err = merged.Encode(); err != nil {
		return nil, fmt.Errorf("fold: %w", err)
	}
	round := result.Round{WindowSeconds: f.WindowS, Cycles: f.Cycles, Ledger: f.Ledger, Arrivals: f.Arrivals}
	round.Derive(merged)
	f.Metrics = round.Metrics
	return f, nil
}

func check(all []*k6run.Instance) error {
	share := 0.0
	first := all[0]
	for n, i := range all {
		share += i.Share
		switch {
		case n > 0 && i.Name == all[n-1].Name:
			return fmt.Errorf("two instances are named %s: remove a duplicate file, or give each process its own segment", i.Name)
		case i.Phases != first.Phases:
			return fmt.Errorf("%s and %s have different phases: warm-up, window and drain must be the same", first.Name, i.Name)
		case !i.Arrivals.Equal(first.Arrivals):
			return fmt.Errorf("%s and %s have different arrivals", first.Name, i.Name)
		case (i.Outcome.Open == nil) != (first.Outcome.Open == nil):
			return fmt.Errorf("%s and %s are not both open loads", first.Name, i.Name)
		}
	}
	if math.Abs(share-1) > shareError {
		return fmt.Errorf("the instances have %.3g of the load in total, expected 1: pass the files of all segments", share)
	}
	return nil
}

func (f *Folded) add(i *k6run.Instance) {
	o := &i.Outcome
	f.Instances = append(f.Instances, Part{
		Name: i.Name, Share: i.Share, Cycles: o.Cycles, CyclesPerS: float64(o.Cycles) / f.WindowS, Enqueued: o.Ledger.Enqueued, Completed: o.Ledger.Completed,
	})
	f.Cycles += o.Cycles
	for _, problem := range audit.Balance(&o.Ledger) {
		f.fault(result.Incorrect, i.Name+": "+problem)
	}
	if !o.Drained {
		f.fault(result.Incorrect, fmt.Sprintf("%s: not all tasks were completed within %v after the window", i.Name, i.Phases.Drain))
	}
	if r := o.RefusedCompletions; r.Count > 0 {
		f.fault(result.Incorrect, fmt.Sprintf("%s: the server refused %d completions of tasks that it had leased: %s", i.Name, r.Count, r.First))
	}
	if r := o.FailedCalls; r.Count > 0 {
		f.fault(result.Invalid, fmt.Sprintf("%s: %d calls of the script failed; the first: %s", i.Name, r.Count, r.First))
	}
	if r := o.RefusedEnqueues; r.Count > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s: the server refused %d enqueues: %s", i.Name, r.Count, r.First))
	}
	f.Ledger.Add(o.Ledger, i.Name)
	if o.Open != nil {
		if f.Arrivals == nil {
			f.Arrivals = &result.Arrivals{}
		}
		f.Arrivals.Add(*o.Open)
	}
}

func (f *Folded) balance() {
	if f.Cycles > f.Ledger.Completed {
		f.fault(result.Incorrect, fmt.Sprintf("%d cycles were completed in the windows, but the ledgers have %d completions", f.Cycles, f.Ledger.Completed))
	}
	if a := f.Arrivals; a != nil {
		if found := a.Finished + a.Unfinished + a.Unsent + a.Dropped + a.Refused; found != a.Scheduled {
			f.fault(result.Incorrect, fmt.Sprintf("%d arrivals were scheduled, but the account has %d", a.Scheduled, found))
		}
	}
}

func (f *Folded) fault(verdict result.Verdict, reason string) {
	f.Verdict = result.Worst(f.Verdict, verdict)
	f.Reasons = append(f.Reasons, reason)
}
