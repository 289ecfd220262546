package result

import (
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// RatchetFile is where the folder of a ratchet keeps what was decided.
const RatchetFile = "ratchet.json"

// Ratchet says whether a change is kept: by its score against its base, over the points of a sweep. It is stored as ratchet.json.
type Ratchet struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Verdict is pass if the change is kept, and regressed if it is rejected, also for a tie or a test suite that failed. It is incorrect
	// if a ledger does not balance, invalid if too little was measured to decide, and misconfigured if a side could not be measured.
	Verdict Verdict `json:"verdict"`
	Kept    bool    `json:"kept"`
	// Decided says that the change is kept or rejected. Otherwise nothing was learnt of the change, and nothing is recorded.
	Decided bool `json:"decided"`
	// Because says the decision in a sentence. Reasons say what disqualified the change or the measurement, if anything did.
	Because  string   `json:"because"`
	Reasons  []string `json:"reasons,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Base     Side     `json:"base"`
	Change   Side     `json:"change"`
	// Durability is that of the servers, and Points how many the sweep has.
	Durability string `json:"durability,omitempty"`
	Points     int    `json:"points"`
	// Measured are the generations, Generations those that count, and Seconds the time of all.
	Measured    int     `json:"measured"`
	Generations int     `json:"generations"`
	Seconds     float64 `json:"seconds"`
	// Score is the weighted geometric mean of the ratios of its metrics; nil if none was measured. Below 1 the change is better.
	Score *RatchetFigure `json:"score,omitempty"`
	// Figures are the metrics over all points, whether the score has them or not.
	Figures []RatchetFigure `json:"figures,omitempty"`
	// Worse are the figures, of all points together, of a point, or of the fixed work, of which it is certain that the change is worse.
	Worse []RatchetFigure `json:"worse,omitempty"`
}

// RatchetFigure is the ratio of the change to the base in one figure.
type RatchetFigure struct {
	Metric string `json:"metric"`
	Point  string `json:"point,omitempty"` // "": all points together
	Unit   string `json:"unit,omitempty"`
	Better Better `json:"better"`
	// Base and Change are geometric means over generations and points; 0 of the score, which is a ratio only.
	Base   float64 `json:"base,omitempty"`
	Change float64 `json:"change,omitempty"`
	// Ratio is the change to the base, with its 95 % interval. A counter from fixed work is equal in each run: its interval has no width.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// P is the probability of so much worse a figure if the change does not make it worse, corrected for the number of figures.
	P float64 `json:"p"`
	// Generations are the ratios of each, of the score only.
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
