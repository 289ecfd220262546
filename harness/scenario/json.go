package scenario

import (
	"encoding/json"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Run manifests and `prony explain --json` contain the JSON form of a scenario. It has the names of
// the file, with every default filled in and with durations and byte rates in the syntax of the
// file. Types whose fields need such text have a method stored, which returns a struct with the
// same names and with field types that marshal to text.

// MarshalJSON writes the scenario with every default filled in. A single workload has the key
// "workload", several have "workloads". The points are omitted, because they follow from the
// sweeps.
func (s Scenario) MarshalJSON() ([]byte, error) {
	s.ProfiledRounds = s.Profiles()
	if s.Tags == nil {
		s.Tags = []string{}
	}
	if s.Captures == nil {
		s.Captures = []Capture{}
	}
	if s.Invariants == nil {
		s.Invariants = []Invariant{}
	}
	stored := s.stored()
	if len(s.Workloads) == 1 {
		stored.Workload, s.Workloads = &s.Workloads[0], nil
	}
	if s.SeriesEvery > 0 {
		stored.Series = &storedSeries{duration(s.SeriesEvery)}
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads the output of MarshalJSON of this and of older versions. Attributes that the
// older version did not have are zero. Unknown names are ignored.
func (s *Scenario) UnmarshalJSON(data []byte) error {
	stored := s.stored()
	if err := json.Unmarshal(data, stored); err != nil {
		return err
	}
	if stored.Workload != nil {
		s.Workloads = []Workload{*stored.Workload}
	}
	var has struct {
		Validity *json.RawMessage `json:"validity"`
	}
	if err := json.Unmarshal(data, &has); err != nil {
		return err
	}
	s.validityUnrecorded = has.Validity == nil
	if stored.Series != nil {
		s.SeriesEvery = time.Duration(stored.Series.Every)
	}
	return nil
}

type plainScenario Scenario

type storedScenario struct {
	*plainScenario
	Workload *Workload     `json:"workload,omitempty"`
	Series   *storedSeries `json:"series,omitempty"`
}

type storedSeries struct {
	Every duration `json:"every"`
}

func (s *Scenario) stored() *storedScenario {
	return &storedScenario{plainScenario: (*plainScenario)(s)}
}

// duration is a time.Duration whose text is that of scenarios: "2s", "250ms".
type duration time.Duration

// IsZero implements the JSON option omitzero.
func (d duration) IsZero() bool { return d == 0 }

// MarshalText writes the duration in the syntax of scenarios.
func (d duration) MarshalText() ([]byte, error) {
	return []byte(hclfile.FormatDuration(time.Duration(d))), nil
}

// UnmarshalText reads what MarshalText writes.
func (d *duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = duration(read)
	return err
}
