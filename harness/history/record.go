package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// Version is the version of the schema of a record. Records of other versions are refused.
	Version = 1
	// LineMax is the maximum length of the line of a record, in bytes.
	LineMax = 2048
	// digits is the number of significant digits of a stored figure.
	digits = 5
)

// metrics are the headline figures in display order.
var metrics = []string{
	result.CyclesPerS, result.EnqueuesPerS, result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle,
	result.CycleLatencyMs + "_p50", result.CycleLatencyMs + "_p99", result.ServerRSSMBMax,
	result.StorageSetsPerCycle, result.StorageSetBytesPerCycle, result.WrittenBytesPerCycle, result.StorageFsyncsPerCycle,
	result.ServerAllocsPerCycle, result.ServerAllocBytesPerCycle, result.RaftEntriesPerCycle, result.RaftLogBytesPerCycle,
}

// Metrics returns the names of the headline figures that a record may have, in display order. The
// caller owns the slice.
func Metrics() []string { return slices.Clone(metrics) }

// Record is the stored summary of a published run, or of a point of a run with a sweep.
type Record struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Point    string    `json:"point,omitempty"` // "shards=4"; "" without a sweep
	Run      string    `json:"run"`             // the run's id
	Measured time.Time `json:"measured"`        // start of the run
	Commit   string    `json:"commit"`          // the measured commit
	// Committed is the date of the commit; zero if the commit was not in the repository when the
	// record was made.
	Committed time.Time `json:"committed,omitzero"`
	// Tag is the newest tag on the commit or one of its ancestors; "" without one.
	Tag        string `json:"tag,omitempty"`
	HostClass  string `json:"host_class,omitempty"` // "" if a part of it was not recorded
	CPUModel   string `json:"cpu_model,omitempty"`
	Durability string `json:"durability"`
	// Scenario.Configuration, or scenario.ConfigurationAt for a point.
	Settings string         `json:"settings"`
	Rounds   int            `json:"rounds"` // number of timed rounds
	Verdict  result.Verdict `json:"verdict"`
	// Metrics are the headline figures of the run by name; empty if it is incorrect.
	Metrics map[string]Figure `json:"metrics"`
	// References measure the host's capacity during the run, by name; empty if the scenario
	// requested none.
	References map[string]Reference `json:"references,omitempty"`
}

// Reference contains the figures of a result.Reference.
type Reference struct {
	PerS  Figure `json:"per_s"`
	CPUUs Figure `json:"cpu_us"`
	// Only for the bare data path.
	ServerCPUUs *Figure `json:"server_cpu_us,omitempty"`
	ClientCPUUs *Figure `json:"client_cpu_us,omitempty"`
}

// Figure is a figure with its interval or range, as in result.Metric. It is stored as [median, low,
// high].
type Figure struct{ Median, Low, High float64 }

func figureOf(m result.Metric) Figure { return Figure{m.Median, m.Low, m.High} }

// MarshalJSON writes the figure with five significant digits. It fails if a number is NaN or
// infinite.
func (f Figure) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, v := range []float64{f.Median, f.Low, f.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("the figure %v is not finite", v)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, render.Rounded(v, digits), 'g', -1, 64)
	}
	return append(text, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figure) UnmarshalJSON(data []byte) error {
	var values []float64
	if err := json.Unmarshal(data, &values); err != nil || len(values) != 3 {
		return fmt.Errorf("%s is not a figure: write [MEDIAN, LOW, HIGH]", data)
	}
	*f = Figure{values[0], values[1], values[2]}
	return nil
}

func encode(r Record) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the record of run %s: %w", r.Run, err)
	}
	if line = append(line, '\n'); len(line) > LineMax {
		return nil, fmt.Errorf("the record of run %s has %d bytes, more than %d: shorten the name of its scenario or its point", r.Run, len(line), LineMax)
	}
	return line, nil
}

// decode parses a line. Its errors describe the problem of the record but not its position.
func decode(line []byte) (Record, error) {
	if len(line) > LineMax {
		return Record{}, fmt.Errorf("the line has %d bytes, more than %d: it is not a record", len(line), LineMax)
	}
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return Record{}, fmt.Errorf("it is not a JSON object: %w: restore the line from git", err)
	}
	switch {
	case head.Version == nil:
		return Record{}, errors.New("version is missing: restore the line from git")
	case *head.Version != Version:
		return Record{}, fmt.Errorf("version is %d, but this program reads %d: use the prony that wrote it", *head.Version, Version)
	}
	var r Record
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("%w: restore the line from git", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Record{}, errors.New("the line has more than one record: write each on a separate line")
	}
	return r, r.check()
}

var (
	commitForm   = regexp.MustCompile("^[0-9a-f]{7,64}$")
	settingsForm = regexp.MustCompile("^[0-9a-f]{12}$")
)

// check returns an error that names the first invalid field of the record.
func (r Record) check() error {
	wrong := func(field string, value any, must string) error {
		return fmt.Errorf("%s is %q: it must be %s", field, fmt.Sprint(value), must)
	}
	switch {
	case r.Version != Version:
		return wrong("version", r.Version, strconv.Itoa(Version))
	case r.Scenario == "":
		return wrong("scenario", r.Scenario, "the name of a scenario")
	case r.Run == "":
		return wrong("run", r.Run, "the id of a run")
	case r.Measured.IsZero():
		return wrong("measured", r.Measured, "the time when the run began")
	case !commitForm.MatchString(r.Commit):
		return wrong("commit", r.Commit, "7 to 64 hexadecimal digits")
	case r.Durability == "":
		return wrong("durability", r.Durability, "when the server acknowledged")
	case !settingsForm.MatchString(r.Settings):
		return wrong("settings", r.Settings, "12 hexadecimal digits")
	case r.Rounds < 1:
		return wrong("rounds", r.Rounds, "the number of timed rounds")
	case !r.Verdict.Known():
		return wrong("verdict", r.Verdict, "a verdict, such as \"pass\"")
	case len(r.Metrics) == 0 && r.Verdict != result.Incorrect:
		return wrong("metrics", "{}", "the headline figures")
	case len(r.Metrics) > 0 && r.Verdict == result.Incorrect:
		return wrong("verdict", r.Verdict, "another verdict: an incorrect run has no figures")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		if !slices.Contains(metrics, name) {
			return wrong("metrics", name, "only headline figures")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.References)) {
		if !slices.Contains(scenario.ReferenceNames(), name) {
			return wrong("references", name, "only references of a scenario")
		}
	}
	return nil
}
