package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Capture is one kind of profile taken in a profiled round.
type Capture struct {
	Kind string `json:"kind"` // "cpu", "mutex", "block", "allocs", "goroutine" or "trace"
	// MutexFraction is runtime.SetMutexProfileFraction's argument, for "mutex": 1 records each
	// event.
	MutexFraction int `json:"-"`
	// BlockRate is runtime.SetBlockProfileRate's argument, for "block": blocking at least this long
	// is always recorded.
	BlockRate time.Duration `json:"-"`
	// CycleLatency is, for "trace", the latency of a cycle that has the servers' last seconds of
	// execution stored, once in a round.
	CycleLatency time.Duration `json:"cycle_latency"`
}

// storedCapture is a capture in JSON: rate is a number for "mutex", a duration for "block".
type storedCapture struct {
	Kind         string   `json:"kind"`
	Rate         any      `json:"rate,omitempty"`
	CycleLatency duration `json:"cycle_latency,omitzero"`
}

// MarshalJSON writes the rate of the capture's kind.
func (c Capture) MarshalJSON() ([]byte, error) {
	stored := storedCapture{Kind: c.Kind, CycleLatency: duration(c.CycleLatency)}
	switch c.Kind {
	case captureMutex:
		stored.Rate = c.MutexFraction
	case captureBlocking:
		stored.Rate = duration(c.BlockRate)
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Capture) UnmarshalJSON(data []byte) error {
	stored := storedCapture{}
	var rate duration
	switch err := json.Unmarshal(data, &struct{ Kind *string }{&stored.Kind}); {
	case err != nil:
		return err
	case stored.Kind == captureMutex:
		stored.Rate = &c.MutexFraction
	case stored.Kind == captureBlocking:
		stored.Rate = &rate
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	c.Kind, c.BlockRate, c.CycleLatency = stored.Kind, time.Duration(rate), time.Duration(stored.CycleLatency)
	return nil
}

// Profiles is how many profiled rounds each point has.
func (s *Scenario) Profiles() int {
	if len(s.Captures) == 0 {
		return 0
	}
	return max(1, s.ProfiledRounds)
}

const (
	// defaultMutexFraction samples one in five contended unlocks: a window of seconds has very many
	// of them, and taking a stack for each would itself hold locks longer.
	defaultMutexFraction = 5
	// defaultBlockRate samples shorter waits in proportion to their length: at 10 us a wait of 1 us
	// is taken one time in ten.
	defaultBlockRate = 10 * time.Microsecond
)

// captureTrace is the capture that is no profile: the execution trace of the moments before a cycle
// was slow.
const captureTrace = "trace"

const captureCPU = "cpu"

// The captures that have a rate.
const (
	captureMutex    = "mutex"
	captureBlocking = "block"
)

var captureKinds = []string{captureCPU, captureMutex, captureBlocking, "allocs", "goroutine", captureTrace}

var captureBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"rate", "cycle_latency_ms"}},
	Label: "kind", Example: `capture "mutex" {}`,
}

// cpuWindowLeast is the shortest window that is profiled: a CPU profile has a hundred samples a
// second for each busy CPU.
const cpuWindowLeast = time.Second

// readCaptures reads each capture "KIND" { rate }, and capture "trace" { cycle_latency_ms }. A
// window of 0 is one that is not known.
func readCaptures(s *hclfile.Block, window time.Duration) []Capture {
	var captures []Capture
	seen := map[string]string{}
	for _, b := range s.Blocks("capture", captureBlock) {
		c := Capture{Kind: b.Kind(captureKinds, nil)}
		switch c.Kind {
		case captureMutex:
			c.MutexFraction = b.Int("rate", hclfile.IntSpec{
				Min: 1, Max: 1_000_000, Default: defaultMutexFraction,
				Why: "one in so many contended unlocks is sampled; 1 samples each",
			})
		case captureBlocking:
			c.BlockRate = b.Duration("rate", hclfile.DurationSpec{
				Min: time.Nanosecond, Max: time.Second, Default: defaultBlockRate,
			})
		case "":
			continue
		}
		if c.Kind != captureMutex && c.Kind != captureBlocking && b.Has("rate") {
			b.AttrProblem("rate", fmt.Sprintf("capture %q takes no rate", c.Kind), "only mutex and block do; remove it")
		}
		c.CycleLatency = readCeiling(b, c.Kind)
		if c.Kind == captureCPU && window > 0 && window < cpuWindowLeast {
			b.LabelProblem(fmt.Sprintf("capture %q needs a window of at least 1s; it is %s", c.Kind, hclfile.FormatDuration(window)),
				`write window = "1s", or remove the capture`)
		}
		if first, twice := seen[c.Kind]; twice {
			b.LabelProblem(fmt.Sprintf("capture %q is given twice", c.Kind), "the first is at "+first+"; keep one of the two")
			continue
		}
		seen[c.Kind] = b.Where()
		captures = append(captures, c)
	}
	return captures
}

// readCeiling reads the cycle_latency_ms of a trace.
func readCeiling(b *hclfile.Block, kind string) time.Duration {
	if kind != captureTrace {
		if b.Has("cycle_latency_ms") {
			b.AttrProblem("cycle_latency_ms", fmt.Sprintf("capture %q takes no cycle_latency_ms", kind), "only trace does; remove it")
		}
		return 0
	}
	ms := b.Int("cycle_latency_ms", hclfile.IntSpec{
		Min: 1, Max: 3_600_000, Required: true,
		Why: "a cycle slower than this has the trace stored",
	})
	return time.Duration(ms) * time.Millisecond
}

// readProfiledRounds reads profiled_rounds, which nothing without a capture has.
func readProfiledRounds(s *hclfile.Block, captures []Capture) int {
	if !s.Has("profiled_rounds") && len(captures) == 0 {
		return 0
	}
	n := s.Int("profiled_rounds", hclfile.IntSpec{
		Min: 1, Max: ProfiledRoundsMax, Default: 1,
		Why: "with two or more, profiles can be compared with those of another run",
	})
	if len(s.Labels("capture")) == 0 {
		s.AttrProblem("profiled_rounds", "profiled_rounds is given, and nothing is captured",
			`add capture "cpu" {}, say, or remove it`)
	}
	return n
}
