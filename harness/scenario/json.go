package scenario

import (
	"encoding/json"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The JSON form of a scenario stands in a run's manifest and in what `prony explain --json` prints:
// the names of the file, every default filled in, durations and byte rates as the file has them. A
// type whose fields encoding/json would write otherwise has a method stored, which returns the
// fields under the same names with types that write themselves as text.

// MarshalJSON writes the scenario with every default filled in. A single workload stands under
// "workload", several under "workloads". The points are left out: the sweeps say them.
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

// UnmarshalJSON reads what MarshalJSON of this and of older versions writes. Attributes that an
// older version did not have are zero, and names that this version does not have are passed over.
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

// plainScenario is a Scenario without its methods.
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

// duration is written as in a scenario: "2s", "250ms".
type duration time.Duration

// IsZero has a duration with the option omitzero left out.
func (d duration) IsZero() bool { return d == 0 }

// MarshalText writes the duration as files do.
func (d duration) MarshalText() ([]byte, error) {
	return []byte(hclfile.FormatDuration(time.Duration(d))), nil
}

// UnmarshalText reads what MarshalText writes.
func (d *duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = duration(read)
	return err
}
