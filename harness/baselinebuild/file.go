// Package baselinebuild reads and extends baselines/build.hcl, which names the commit that speed
// limits are relative to and records the ratios measured at each change of that commit.
//
// The file has one block per baseline build, oldest first; the last one is in force. Each block
// except the first contains the ratios of its build to the previous build, measured as a duet.
// [File.Products] multiplies them, so that many small losses add up to a visible one.
//
// [Read] reports all problems of the file together. [Append] adds a block and preserves the text
// before it.
package baselinebuild

// FileName is the name of the file in the folder of baselines.
const FileName = "build.hcl"

// File is the content of the file. It has at least one build.
type File struct {
	Builds []Build // oldest first
}

// Current returns the build in force.
func (f *File) Current() Build { return f.Builds[len(f.Builds)-1] }

// Build is one baseline build.
type Build struct {
	Commit  string `json:"commit"` // all 40 digits
	Date    string `json:"date"`   // start of its use, like "2026-11-28"
	Because string `json:"because"`
	// Ratios are grouped by scenario, in the order of the file. The first build has none.
	Ratios []Ratio `json:"ratios,omitempty"`
	// AcceptCreep is the reason for accepting a product below CreepShare of its best, or "" if no
	// product fell that low.
	AcceptCreep string `json:"accept_creep,omitempty"`
}

// Ratio is the ratio of a metric of a build to that of the previous build.
type Ratio struct {
	Scenario string  `json:"scenario"`
	Metric   string  `json:"metric"` // one of Metrics
	Value    float64 `json:"ratio"`  // InRange
}

// Bounds of a ratio. They keep products finite.
const (
	RatioMin = 1e-6
	RatioMax = 1e6
)

// InRange is true reports whether a file can store a ratio. NaN and the infinities are out of
// range.
func InRange(ratio float64) bool { return ratio >= RatioMin && ratio <= RatioMax }
