package soak

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Row contains the figures of one window, or of several successive windows. It is stored until the
// end of the soak.
type Row struct {
	First   int       `json:"first"` // number of the first window
	Last    int       `json:"last"`
	Started time.Time `json:"started"` // start of the first window
	// Windows is the number of windows. The counts after it are the numbers of windows that are
	// invalid, that have faults, that were cut short, and that have a ledger that does not balance.
	// A window may be in several of these counts.
	Windows   int           `json:"windows"`
	Invalid   int           `json:"invalid,omitempty"`
	Faults    int           `json:"faults,omitempty"`
	Cut       int           `json:"cut,omitempty"`
	Incorrect int           `json:"incorrect,omitempty"`
	MeasuredS float64       `json:"measured_s"` // total time of the windows that were not cut short
	Cycles    uint64        `json:"cycles"`
	Ledger    result.Ledger `json:"ledger"` // sum over all windows
	// Reasons contains the reasons of the first incorrect windows, at most rowReasonsMax.
	Reasons []string `json:"reasons,omitempty"`
	Judged  Figures  `json:"judged"`
	// Recoveries contains sums over the windows with faults. These windows are not judged.
	Recoveries recoveries `json:"recoveries,omitzero"`

	ServerEnds int `json:"server_ends,omitempty"`
	// Events contains the latest events, at most rowEventsMax.
	Events        []result.SoakEvent `json:"events,omitempty"`
	EventsOmitted int                `json:"events_omitted,omitempty"`

	p99Ms float64 // 99th percentile of Judged.Latency in milliseconds; 0 if Judged has no windows
}

// Figures contains sums over the judged windows. A window is judged if it is valid, has no faults,
// and was measured to its end.
type Figures struct {
	Windows    int             `json:"windows"`
	Seconds    float64         `json:"seconds"`
	Cycles     uint64          `json:"cycles"`
	ServerCPUS float64         `json:"server_cpu_s"`
	ClientCPUS float64         `json:"client_cpu_s"`
	Processes  []processSums   `json:"processes,omitempty"`
	Latency    latencyEncoding `json:"latency,omitempty"`
}

// latencyEncoding is a histogram of latencies in the compressed V2 encoding, as base64. It is "" if
// there is no window.
type latencyEncoding string

// processSums contains sums of the resources that a process used at the ends of windows.
type processSums struct {
	Name       string  `json:"name"`
	Windows    int     `json:"windows"`
	RSSMB      float64 `json:"rss_mb"`
	FDs        float64 `json:"fds"`
	Goroutines float64 `json:"goroutines"`
	DiskMB     float64 `json:"disk_mb,omitempty"`
}

// Bounds of a row.
const (
	rowEventsMax    = 4
	rowReasonsMax   = 4
	ledgerSamplesOf = 8 // number of faulty tasks that a ledger names
	eventBytesMax   = 500
	bytesPerMB      = 1e6
)

// addLedger adds the account of other windows to a ledger. It keeps at most ledgerSamplesOf
// samples.
func addLedger(to *result.Ledger, other result.Ledger) {
	to.Add(other, "")
	to.Samples = to.Samples[:min(len(to.Samples), ledgerSamplesOf)]
}

func newRow(w *Window) (Row, error) {
	row := Row{
		First: w.Number, Last: w.Number, Started: w.Round.Started, Windows: 1, Ledger: result.Ledger{}, ServerEnds: w.ServerEnds,
	}
	addLedger(&row.Ledger, w.Round.Ledger)
	if w.Round.Verdict == result.Incorrect || w.Round.Ledger.AtFault() > 0 {
		row.Incorrect = 1
		row.addReasons(w.Round.Reasons)
	}
	for _, text := range slices.Concat(w.Events, row.Reasons) {
		if len(text) > eventBytesMax {
			text = text[:eventBytesMax] + " …"
		}
		row.Events = append(row.Events, result.SoakEvent{At: w.Round.Started, Window: w.Number, Text: text})
	}
	row.boundEvents()
	if w.Faults {
		row.Faults = 1
	}
	if w.Cut {
		row.Cut = 1
		return row, nil
	}
	row.MeasuredS, row.Cycles = w.Round.WindowSeconds, w.Round.Cycles
	recovered, scored, err := recoveriesOf(w)
	if err != nil {
		return row, err
	}
	if scored && row.Incorrect == 0 {
		row.Recoveries = recovered
		return row, nil
	}
	if w.Round.Verdict != result.Pass || row.Incorrect > 0 {
		row.Invalid = 1 - row.Incorrect
		return row, nil
	}
	if w.Faults {
		return row, nil
	}
	figures, err := figuresOf(w)
	if err != nil {
		return row, fmt.Errorf("window %d: %w", w.Number, err)
	}
	if figures == nil { // a missing measurement must not count as a good measurement
		row.Invalid = 1
		return row, nil
	}
	row.Judged = *figures
	return row, row.derive()
}

// figuresOf returns the figures of a judged window. It returns nil if one of them is missing.
func figuresOf(w *Window) (*Figures, error) {
	h, err := result.DecodeHistograms(w.Histograms)
	if err != nil {
		return nil, err
	}
	serverUs, hasServer := w.Round.Metrics[result.ServerCPUUsPerCycle]
	clientUs, hasClient := w.Round.Metrics[result.ClientCPUUsPerCycle]
	own := slices.IndexFunc(w.Processes, func(p Process) bool { return p.Name == HarnessName })
	if !hasServer || !hasClient || own < 0 || len(w.Processes) < 2 || w.Round.Cycles == 0 || w.Round.WindowSeconds <= 0 {
		return nil, nil
	}
	cycles := float64(w.Round.Cycles)
	f := &Figures{
		Windows: 1, Seconds: w.Round.WindowSeconds, Cycles: w.Round.Cycles, ServerCPUS: serverUs * cycles / 1e6, ClientCPUS: clientUs * cycles / 1e6,
	}
	for _, p := range w.Processes {
		if p.RSSBytes <= 0 || p.FDs <= 0 || p.Goroutines <= 0 {
			return nil, nil
		}
		f.Processes = append(f.Processes, processSums{
			Name: p.Name, Windows: 1, RSSMB: float64(p.RSSBytes) / bytesPerMB, FDs: float64(p.FDs), Goroutines: float64(p.Goroutines),
			DiskMB: float64(p.DataBytes) / bytesPerMB,
		})
	}
	f.Latency, err = encodeLatency(h.Cycle)
	return f, err
}

func encodeLatency(h *hdrhistogram.Histogram) (latencyEncoding, error) {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode the cycle latency: %w", err)
	}
	return latencyEncoding(text), nil
}

func (l latencyEncoding) mergeInto(h *hdrhistogram.Histogram) error {
	if l == "" {
		return nil
	}
	other, err := hdrhistogram.Decode([]byte(l))
	if err != nil {
		return fmt.Errorf("decode the cycle latency: %w", err)
	}
	if dropped := h.Merge(other); dropped > 0 {
		return fmt.Errorf("merge the cycle latency: %d values do not fit", dropped)
	}
	return nil
}

func (l latencyEncoding) merged(other latencyEncoding) (latencyEncoding, error) {
	all := result.NewHistogram()
	if err := errors.Join(l.mergeInto(all), other.mergeInto(all)); err != nil {
		return "", err
	}
	return encodeLatency(all)
}

func (r *Row) add(next Row) error {
	r.Last = next.Last
	r.Windows += next.Windows
	r.Invalid += next.Invalid
	r.Faults += next.Faults
	r.Cut += next.Cut
	r.Incorrect += next.Incorrect
	r.MeasuredS += next.MeasuredS
	r.Cycles += next.Cycles
	addLedger(&r.Ledger, next.Ledger)
	r.addReasons(next.Reasons)
	r.ServerEnds += next.ServerEnds
	r.Events = slices.Concat(r.Events, next.Events)
	r.EventsOmitted += next.EventsOmitted
	r.boundEvents()
	if err := errors.Join(r.Judged.add(next.Judged), r.Recoveries.add(next.Recoveries)); err != nil {
		return fmt.Errorf("add windows %d to %d to the row of windows from %d on: %w", next.First, next.Last, r.First, err)
	}
	return r.derive()
}

func (r *Row) addReasons(more []string) {
	r.Reasons = slices.Concat(r.Reasons, more)
	r.Reasons = r.Reasons[:min(len(r.Reasons), rowReasonsMax)]
}

func (r *Row) boundEvents() {
	if over := len(r.Events) - rowEventsMax; over > 0 {
		r.Events = slices.Clone(r.Events[over:])
		r.EventsOmitted += over
	}
}

func (f *Figures) add(next Figures) error {
	if next.Windows == 0 {
		return nil
	}
	f.Windows += next.Windows
	f.Seconds += next.Seconds
	f.Cycles += next.Cycles
	f.ServerCPUS += next.ServerCPUS
	f.ClientCPUS += next.ClientCPUS
	f.Processes = slices.Clone(f.Processes) // the slice may be shared with the row that was added
	for _, p := range next.Processes {
		i := slices.IndexFunc(f.Processes, func(own processSums) bool { return own.Name == p.Name })
		if i < 0 {
			f.Processes = append(f.Processes, p)
			continue
		}
		own := &f.Processes[i]
		own.Windows += p.Windows
		own.RSSMB += p.RSSMB
		own.FDs += p.FDs
		own.Goroutines += p.Goroutines
		own.DiskMB += p.DiskMB
	}
	var err error
	f.Latency, err = f.Latency.merged(next.Latency)
	return err
}

func (r *Row) derive() error {
	r.p99Ms = 0
	if r.Judged.Windows == 0 {
		return nil
	}
	h := result.NewHistogram()
	if err := r.Judged.Latency.mergeInto(h); err != nil {
		return err
	}
	r.p99Ms = p99Ms(h)
	return nil
}

func p99Ms(h *hdrhistogram.Histogram) float64 {
	return float64(h.ValueAtPercentile(99)) / float64(time.Millisecond)
}

// values returns the figures whose drift is judged, as means over the judged windows. It returns
// nil without judged windows. p99 is the percentile of the merged latencies.
func (f *Figures) values(p99 float64) map[string]float64 {
	if f.Windows == 0 {
		return nil
	}
	values := map[string]float64{
		scenario.SoakRate: float64(f.Cycles) / f.Seconds, scenario.SoakLatency: p99, scenario.SoakServerCPU: 1e6 * f.ServerCPUS / float64(f.Cycles),
	}
	for _, p := range f.means() {
		if p.Name == HarnessName {
			values[scenario.SoakHarnessRSS] = p.RSSMB
			continue
		}
		values[scenario.SoakRSS] += p.RSSMB
		values[scenario.SoakFDs] += p.FDs
		values[scenario.SoakGoroutines] += p.Goroutines
		values[scenario.SoakDisk] += p.DiskMB
	}
	return values
}

// means returns the resources of each process, as means over the judged windows of the process's
// lifetime.
func (f *Figures) means() []result.SoakProcess {
	means := make([]result.SoakProcess, 0, len(f.Processes))
	for _, p := range f.Processes {
		n := float64(p.Windows)
		means = append(means, result.SoakProcess{Name: p.Name, RSSMB: p.RSSMB / n, FDs: p.FDs / n, Goroutines: p.Goroutines / n, DiskMB: p.DiskMB / n})
	}
	return means
}
