package result

import (
	"fmt"
	"path/filepath"
	"time"
)

// SoakFile is the file of a finished soak's result, in the folder of the soak and in the folder of its published data. A soak's folder has no
// result.json.
const SoakFile = "soak.json"

const (
	// SoakVersion is the version of the schema of soak.json.
	SoakVersion = 2
	// SoakOneLevel is the first version whose bounds decide the verdict, and whose changes are of the end to the start.
	SoakOneLevel = 2
)

// Soak is what a soak measured: servers that stayed up while one window followed the other. While the soak goes on, its verdict is of what is
// measured so far, and Finished is zero. It is stored as soak.json when it is finished.
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
	// WindowS is how long a window is, ForS how long the windows together were to be, and MeasuredS how long they were. Windows that were cut
	// short count for nothing.
	WindowS   float64     `json:"window_s"`
	ForS      float64     `json:"for_s"`
	MeasuredS float64     `json:"measured_s"`
	Totals    SoakTotals  `json:"totals"`
	Drifts    []SoakDrift `json:"drifts"`
	// Points are the windows in the order of time. Neighbours are added up where there are too many, so that each stands for as many
	// windows, the last one perhaps for fewer.
	Points []SoakPoint `json:"points"`
	Events []SoakEvent `json:"events,omitempty"` // the newest
	// EventsOmitted is how many older ones there were.
	EventsOmitted int `json:"events_omitted,omitempty"`
}

// SoakTotals are sums over all windows of a soak.
type SoakTotals struct {
	Windows int `json:"windows"`
	// Judged are the windows that the drift is judged by. The others are invalid, have faults, or were cut short; a window may be in several
	// of those counts.
	Judged     int    `json:"judged"`
	Invalid    int    `json:"invalid"`
	WithFaults int    `json:"with_faults"`
	Cut        int    `json:"cut"`    // by the end of the harness or of a server
	Starts     int    `json:"starts"` // of the harness: 1 and each time that it went on
	ServerEnds int    `json:"server_ends"`
	Cycles     uint64 `json:"cycles"`
	Ledger     Ledger `json:"ledger"`
	Incorrect  int    `json:"incorrect,omitempty"` // windows whose ledger does not balance, or in which a server failed
	// IncorrectReasons say why: those of the first such windows.
	IncorrectReasons []string `json:"incorrect_reasons,omitempty"`
	// Metrics are of the judged windows together: rate, percentiles of their merged cycle latency, and CPU time for each cycle.
	Metrics map[string]float64 `json:"metrics"`
	// Recovery is how the load recovered from the faults; nil if no window was scored.
	Recovery *SoakRecovery `json:"recovery,omitempty"`
	// DeletedWindows and DeletedBytes count the results of single windows that were deleted, since they were old or too large together.
	DeletedWindows int   `json:"deleted_windows,omitempty"`
	DeletedBytes   int64 `json:"deleted_bytes,omitempty"`
}

// SoakRecovery is how the load recovered from the faults of the scored windows of a soak: those with faults that were measured to their end and
// are neither invalid nor incorrect.
type SoakRecovery struct {
	Windows int `json:"windows"`
	Faults  int `json:"faults"`
	// NotRecovered counts the faults after which the rate did not come back before the next fault or the end of the window: see Fault.Recovered.
	NotRecovered int `json:"not_recovered"`
	// Decayed counts the windows after whose last faults the rate did not come back: see Faults.Decay. DecayedReason says it of the first one.
	Decayed        int     `json:"decayed"`
	DecayedReason  string  `json:"decayed_reason,omitempty"`
	RecoveredShare float64 `json:"recovered_share"` // as that of Faults
	// RecoveryMsMedian and RecoveryMsMax are of the faults that the load recovered from; 0 without one.
	RecoveryMsMedian float64 `json:"recovery_ms_median,omitzero"`
	RecoveryMsMax    float64 `json:"recovery_ms_max,omitzero"`
}

// AtFault is how many tasks, reads, results, extensions and repeated keys the ledger found wrong.
func (l Ledger) AtFault() uint64 {
	return l.Lost + l.Duplicated + l.Corrupted + l.Misrouted + l.Reordered + l.Contested + l.Revoked + l.Misread +
		l.Miscounted + l.Early + l.WrongResults + l.Unextended + l.Rekeyed
}

// SoakDrift is by how much one figure changed over the judged windows of a soak.
type SoakDrift struct {
	Figure string  `json:"figure"` // of scenario.SoakFigures
	Unit   string  `json:"unit"`
	Mean   float64 `json:"mean"`
	// First and Last are the figure over the first and the last hour of judged windows, or over the first and last tenth of them where that
	// is longer than an hour would be.
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	SpanS float64 `json:"span_s"` // how long each of them is
	// Values is how many values the slope was found from.
	Values int `json:"values"`
	// WorsePercent is the change for the worse from start to end of a line through the values, in percent of the start; below 0 the figure
	// became better. Low is its one-sided lower bound, at 95 % over all figures together, and High its upper bound, at 95 % for this one. All
	// three are nil if there are too few values.
	WorsePercent *float64 `json:"worse_percent,omitempty"`
	LowPercent   *float64 `json:"low_percent,omitempty"`
	HighPercent  *float64 `json:"high_percent,omitempty"`
	// P is the probability of such a change by chance, corrected for the number of figures (Holm).
	P            *float64 `json:"p,omitempty"`
	LimitPercent float64  `json:"limit_percent"`
	Verdict      Verdict  `json:"verdict"`
	Sentence     string   `json:"sentence"`
	// NeedsS is how long a soak would have to measure for the figure to pass, if it goes on as it did; 0 if the verdict is not inconclusive or
	// if no longer soak would tell.
	NeedsS float64 `json:"needs_s,omitempty"`
}

// SoakPoint is one window of a soak, or several that follow each other.
type SoakPoint struct {
	AtS     float64 `json:"at_s"`            // the end of its last window, in seconds of measured time
	Windows int     `json:"windows"`         // how many
	Judged  int     `json:"judged"`          // of them
	Faults  int     `json:"faults,omitzero"` // of them had faults
	// Figures are means over its judged windows, and the percentile of their merged latency, by the names of scenario.SoakFigures; nil without
	// a judged window.
	Figures map[string]float64 `json:"figures,omitempty"`
	// Processes are those of its judged windows: the harness, and the servers by their nodes.
	Processes []SoakProcess `json:"processes,omitempty"`
}

// SoakProcess is what a process of a soak held at the ends of windows: the mean over them.
type SoakProcess struct {
	Name       string  `json:"name"`
	RSSMB      float64 `json:"rss_mb"`
	FDs        float64 `json:"fds"`
	Goroutines float64 `json:"goroutines"`
	DiskMB     float64 `json:"disk_mb,omitzero"` // of its data folder
}

// SoakEvent is something that happened to a soak besides its windows.
type SoakEvent struct {
	At     time.Time `json:"at"`
	Window int       `json:"window"` // the number of the window that it happened in or before
	Text   string    `json:"text"`
}

// IsSoak reports whether a folder has the result of a soak.
func IsSoak(dir string) (bool, error) { return Exists(dir, SoakFile) }

// ReadSoak loads the result of the soak in a folder. The error says if it is missing, corrupt, or of a version newer than this program knows.
func ReadSoak(dir string) (*Soak, error) {
	path := filepath.Join(dir, SoakFile)
	var s Soak
	if err := readJSON(path, &s); err != nil {
		return nil, err
	}
	if s.Version > SoakVersion {
		return nil, fmt.Errorf("read %s: it has version %d and this program reads up to %d: use a newer prony", path, s.Version, SoakVersion)
	}
	if !s.Verdict.Known() {
		return nil, fmt.Errorf("read %s: corrupt: %q is not a verdict", path, s.Verdict)
	}
	return &s, nil
}

// WriteSoak writes the result of a soak into its folder. It fails, and writes nothing, if a number is NaN or infinite.
func WriteSoak(dir string, s *Soak) error {
	path := filepath.Join(dir, SoakFile)
	data, err := encode(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// NewSoakOutcome returns the outcome of a soak whose folder is at path folder. Where the verdict is incorrect it publishes only the counts of
// tasks at fault.
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
