package result

import (
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// RatchetFile is the file of the decision in the folder of a ratchet.
const RatchetFile = "ratchet.json"

// Ratchet is the decision whether to keep a change. It is based on the score of the change relative
// to its base, over the points of a sweep. It is stored as ratchet.json.
type Ratchet struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Verdict is pass if the change is kept, and regressed if it is rejected, including a tie or a
	// failed test suite. It is incorrect if a ledger does not balance, invalid if too little was
	// measured to decide, and misconfigured if a side could not be measured.
	Verdict Verdict `json:"verdict"`
	Kept    bool    `json:"kept"`
	// Decided reports that the change is kept or rejected. Otherwise no decision exists, and
	// nothing is recorded.
	Decided bool `json:"decided"`
	// Because explains the decision in a sentence. Reasons explain what disqualified the change or
	// the measurement.
	Because  string   `json:"because"`
	Reasons  []string `json:"reasons,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Base     Side     `json:"base"`
	Change   Side     `json:"change"`
	// Durability is the durability of the servers, and Points the number of points of the sweep.
	Durability string `json:"durability,omitempty"`
	Points     int    `json:"points"`
	// Measured is the number of all generations, Generations the number of valid ones, and Seconds
	// the duration of all of them.
	Measured    int     `json:"measured"`
	Generations int     `json:"generations"`
	Seconds     float64 `json:"seconds"`
	// Score is the weighted geometric mean of the ratios of its metrics; nil if none was measured.
	// Below 1 the change is better.
	Score *RatchetFigure `json:"score,omitempty"`
	// Figures are the metrics over all points, including metrics that are not in the score.
	Figures []RatchetFigure `json:"figures,omitempty"`
	// Worse are the figures that are certainly worse in the change, over all points, at a point, or
	// of the fixed work.
	Worse []RatchetFigure `json:"worse,omitempty"`
}

// RatchetFigure is the ratio of the change to the base in one figure.
type RatchetFigure struct {
	Metric string `json:"metric"`
	Point  string `json:"point,omitempty"` // "" for all points together
	Unit   string `json:"unit,omitempty"`
	Better Better `json:"better"`
	// Base and Change are geometric means over generations and points; 0 for the score, which is
	// only a ratio.
	Base   float64 `json:"base,omitempty"`
	Change float64 `json:"change,omitempty"`
	// Ratio is the ratio of the change to the base with its 95 % interval. A counter from fixed
	// work is equal in each run, so its interval has no width.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// P is the probability of a figure at least this bad if the change does not make it worse,
	// corrected for the number of figures.
	P float64 `json:"p"`
	// Generations are the ratios of the single generations; only for the score.
	Generations []float64 `json:"generations,omitempty"`
}

// WriteRatchet stores r in dir. It fails, and writes nothing, if a number is NaN or infinite.
func WriteRatchet(dir string, r *Ratchet) error {
	path := filepath.Join(dir, RatchetFile)
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// WriteJSON writes r to w as one document.
func (r *Ratchet) WriteJSON(w io.Writer) error { return writeJSON(w, "the ratchet", r) }
