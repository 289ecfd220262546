package result

import (
	"fmt"
	"path/filepath"
	"time"
)

// SoakFile is the file of a finished soak's result, in the folder of the soak and in the folder of
// its published data. A soak's folder has no result.json.
const SoakFile = "soak.json"

const (
	// SoakVersion is the version of the schema of soak.json.
	SoakVersion = 2
	// SoakOneLevel is the first version in which the bounds of the drifts decide the verdict and
	// changes are relative to the start of the soak.
	SoakOneLevel = 2
)

// Soak is the measurement of a soak: servers that stayed up during consecutive windows. During the
// soak, the verdict is based on the measurements so far, and Finished is the zero time. It is
// stored as soak.json when finished.
type Soak struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Title    string    `json:"title"`
	Manifest Manifest  `json:"manifest"` // of the first start of the harness
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Verdict  Verdict   `json:"verdict"`
	Reasons  []string  `json:"reasons,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	// WindowS is the length of a window, ForS the intended total length of all windows, and
	// MeasuredS their actual total length. MeasuredS excludes windows that were cut short.
	WindowS   float64     `json:"window_s"`
	ForS      float64     `json:"for_s"`
	MeasuredS float64     `json:"measured_s"`
	Totals    SoakTotals  `json:"totals"`
	Drifts    []SoakDrift `json:"drifts"`
	// Points are the windows in order of time. If there are too many, equal numbers of neighbours
	// are merged into one point; the last point may contain fewer windows.
	Points []SoakPoint `json:"points"`
	Events []SoakEvent `json:"events,omitempty"` // the newest
	// EventsOmitted is the number of older events.
	EventsOmitted int `json:"events_omitted,omitempty"`
}

// SoakTotals are sums over all windows of a soak.
type SoakTotals struct {
	Windows int `json:"windows"`
	// Judged counts the windows from which the drift is judged. The other windows are invalid, have
	// faults, or were cut short. A window may be counted in several of Invalid, WithFaults and Cut.
	Judged     int    `json:"judged"`
	Invalid    int    `json:"invalid"`
	WithFaults int    `json:"with_faults"`
	Cut        int    `json:"cut"`    // by the end of the harness or of a server
	Starts     int    `json:"starts"` // of the harness: 1 plus the number of resumptions
	ServerEnds int    `json:"server_ends"`
	Cycles     uint64 `json:"cycles"`
	Ledger     Ledger `json:"ledger"`
	// Incorrect counts windows whose ledger does not balance, or whose servers failed.
	Incorrect int `json:"incorrect,omitempty"`
	// IncorrectReasons are the reasons of the first such windows.
	IncorrectReasons []string `json:"incorrect_reasons,omitempty"`
	// Metrics are computed from all judged windows together: the rate, percentiles of the merged
	// cycle latency, and the CPU time per cycle.
	Metrics map[string]float64 `json:"metrics"`
	// Recovery describes the recovery of the load from the faults; nil if no window was scored.
	Recovery *SoakRecovery `json:"recovery,omitempty"`
	// DeletedWindows and DeletedBytes count the results of single windows that were deleted because
	// they were old or exceeded a total size.
	DeletedWindows int   `json:"deleted_windows,omitempty"`
	DeletedBytes   int64 `json:"deleted_bytes,omitempty"`
}

// SoakRecovery describes the recovery of the load from the faults of the scored windows of a soak:
// complete windows with faults that are neither invalid nor incorrect.
type SoakRecovery struct {
	Windows int `json:"windows"`
	Faults  int `json:"faults"`
	// NotRecovered counts the faults after which the rate did not recover before the next fault or
	// the end of the window: see Fault.Recovered.
	NotRecovered int `json:"not_recovered"`
	// Decayed counts the windows in which the rate did not recover after the last faults: see
	// Faults.Decay. DecayedReason is the reason for the first such window.
	Decayed        int     `json:"decayed"`
	DecayedReason  string  `json:"decayed_reason,omitempty"`
	RecoveredShare float64 `json:"recovered_share"` // see Faults
	// RecoveryMsMedian and RecoveryMsMax include only faults from which the load recovered; 0
	// without such a fault.
	RecoveryMsMedian float64 `json:"recovery_ms_median,omitzero"`
	RecoveryMsMax    float64 `json:"recovery_ms_max,omitzero"`
}

// AtFault returns the number of tasks, reads, results, extensions, keys, cancellations and headers that the ledger
// found wrong.
func (l Ledger) AtFault() uint64 {
	return l.Lost + l.Duplicated + l.Corrupted + l.Misrouted + l.Reordered + l.Contested + l.Revoked + l.Misread +
		l.Miscounted + l.Early + l.WrongResults + l.Unextended + l.Rekeyed + l.Doubled + l.Unnoticed + l.WrongHeaders + l.Premature
}

// SoakDrift is the change of one figure over the judged windows of a soak.
type SoakDrift struct {
	Figure string  `json:"figure"` // of scenario.SoakFigures
	Unit   string  `json:"unit"`
	Mean   float64 `json:"mean"`
	// First and Last are the figure over the first and the last hour of judged windows, or over
	// their first and last tenth if that is longer than an hour.
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	SpanS float64 `json:"span_s"` // length of the first and of the last span
	// Values is the number of values behind the slope.
	Values int `json:"values"`
	// WorsePercent is the change for the worse along a line fitted to the values, from start to
	// end, in percent of the start; negative if the figure improved. LowPercent is a one-sided
	// lower bound with 95 % confidence over all figures together. HighPercent is a one-sided upper
	// bound with 95 % confidence for this figure alone. All three are nil if there are too few
	// values.
	WorsePercent *float64 `json:"worse_percent,omitempty"`
	LowPercent   *float64 `json:"low_percent,omitempty"`
	HighPercent  *float64 `json:"high_percent,omitempty"`
	// P is the probability that chance alone causes such a change, corrected for the number of
	// figures (Holm).
	P            *float64 `json:"p,omitempty"`
	LimitPercent float64  `json:"limit_percent"`
	Verdict      Verdict  `json:"verdict"`
	Sentence     string   `json:"sentence"`
	// NeedsS is the measured time that a soak needs for a decision on the figure, assuming the same
	// change and noise. It is 0 if the verdict is not inconclusive or no length of soak could
	// decide.
	NeedsS float64 `json:"needs_s,omitempty"`
}

// SoakPoint is one window of a soak or several consecutive ones.
type SoakPoint struct {
	AtS     float64 `json:"at_s"`            // end of its last window, in seconds of measured time
	Windows int     `json:"windows"`         // number of windows
	Judged  int     `json:"judged"`          // number of judged windows
	Faults  int     `json:"faults,omitzero"` // number of windows with faults
	// Figures are means over the point's judged windows, except that the latency percentile is from
	// their merged latency. The names are those of scenario.SoakFigures. It is nil without a judged
	// window.
	Figures map[string]float64 `json:"figures,omitempty"`
	// Processes are the processes of the point's judged windows: the harness, and the servers under
	// the names of their nodes.
	Processes []SoakProcess `json:"processes,omitempty"`
}

// SoakProcess contains the resource use of one process, read at the end of each window and averaged
// over windows.
type SoakProcess struct {
	Name       string  `json:"name"`
	RSSMB      float64 `json:"rss_mb"`
	FDs        float64 `json:"fds"`
	Goroutines float64 `json:"goroutines"`
	DiskMB     float64 `json:"disk_mb,omitzero"` // of its data folder
}

// SoakEvent is an event of a soak other than its windows.
type SoakEvent struct {
	At     time.Time `json:"at"`
	Window int       `json:"window"` // number of the window in or before which it happened
	Text   string    `json:"text"`
}

// IsSoak reports whether a folder contains the result of a soak.
func IsSoak(dir string) (bool, error) { return Exists(dir, SoakFile) }

// ReadSoak loads the result of the soak in a folder. It fails if the result is missing, corrupt, or
// of a newer version than this program supports.
func ReadSoak(dir string) (*Soak, error) {
	path := filepath.Join(dir, SoakFile)
	var s Soak
	if err := readJSON(path, versions{1, SoakVersion}, &s); err != nil {
		return nil, err
	}
	if !s.Verdict.Known() {
		return nil, fmt.Errorf("read %s: corrupt: %q is not a verdict", path, s.Verdict)
	}
	return &s, nil
}

// WriteSoak writes the result of a soak into its folder. It fails, and writes nothing, if a number
// is NaN or infinite.
func WriteSoak(dir string, s *Soak) error {
	path := filepath.Join(dir, SoakFile)
	data, err := encode(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// NewSoakOutcome returns the outcome of a soak that is stored in folder. If the verdict is
// incorrect, it includes only the counts of tasks at fault.
func NewSoakOutcome(s *Soak, folder string) Outcome {
	o := Outcome{
		Name: s.Scenario, Verdict: s.Verdict, Run: folder, Durability: s.Manifest.Durability(), Polling: s.Manifest.Polling(),
		Settings: s.Manifest.Scenario.Settings(), Reasons: s.Reasons, Warnings: s.Warnings, Metrics: map[string]Metric{},
	}
	add := func(name string, value float64) {
		if spec, known := Lookup(name); known {
			o.Metrics[name] = Metric{Median: value, Low: value, High: value, N: s.Totals.Judged, Unit: spec.Unit}
		}
	}
	for name, value := range ledgerMetrics(s.Totals.Ledger) {
		add(name, value)
	}
	if s.Verdict != Incorrect {
		for name, value := range s.Totals.Metrics {
			add(name, value)
		}
	}
	return o
}
