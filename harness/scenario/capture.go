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
	// MutexFraction is the argument of runtime.SetMutexProfileFraction, for "mutex": 1 records each
	// event.
	MutexFraction int `json:"-"`
	// BlockRate is the argument of runtime.SetBlockProfileRate, for "block": each wait of at least
	// this length is recorded.
	BlockRate time.Duration `json:"-"`
	// CycleLatency is the trigger of "trace": the first cycle of a round with a higher latency
	// makes the servers store the last seconds of their execution.
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

// Profiles returns the number of profiled rounds of each point.
func (s *Scenario) Profiles() int {
	if len(s.Captures) == 0 {
		return 0
	}
	return max(1, s.ProfiledRounds)
}

const (
	// defaultMutexFraction samples one in five contended unlocks. A window of seconds has very many
	// of them, and recording a stack for each would prolong the time that locks are held.
	defaultMutexFraction = 5
	// defaultBlockRate samples shorter waits in proportion to their length: at 10 us, one in ten
	// waits of 1 us is recorded.
	defaultBlockRate = 10 * time.Microsecond
)

// captureTrace is the only capture that is not a profile. It stores the execution trace from just
// before a slow cycle.
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

// cpuWindowLeast is the shortest window with a CPU profile. Such a profile has only a hundred
// samples per second and busy CPU.
const cpuWindowLeast = time.Second

// readCaptures reads each capture "KIND" { rate }, and capture "trace" { cycle_latency_ms }. A
// window of 0 is unknown.
func readCaptures(s *hclfile.Block, window time.Duration) []Capture {
	var captures []Capture
	seen := map[string]string{}
	for _, b := range s.Blocks("capture", captureBlock) {
		c := Capture{Kind: b.Kind(captureKinds, nil)}
		switch c.Kind {
		case captureMutex:
			c.MutexFraction = b.Int("rate", hclfile.IntSpec{
				Min: 1, Max: 1_000_000, Default: defaultMutexFraction,
				Why: "a rate of n samples one in n contended unlocks",
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
			b.LabelProblem(fmt.Sprintf("capture %q is defined twice", c.Kind), "the first is at "+first+"; keep one of the two")
			continue
		}
		seen[c.Kind] = b.Where()
		captures = append(captures, c)
	}
	return captures
}

func readCeiling(b *hclfile.Block, kind string) time.Duration {
	if kind != captureTrace {
		if b.Has("cycle_latency_ms") {
			b.AttrProblem("cycle_latency_ms", fmt.Sprintf("capture %q takes no cycle_latency_ms", kind), "only trace does; remove it")
		}
		return 0
	}
	ms := b.Int("cycle_latency_ms", hclfile.IntSpec{
		Min: 1, Max: 3_600_000, Required: true,
		Why: "the first cycle slower than this stores the trace",
	})
	return time.Duration(ms) * time.Millisecond
}

func readProfiledRounds(s *hclfile.Block, captures []Capture) int {
	if !s.Has("profiled_rounds") && len(captures) == 0 {
		return 0
	}
	n := s.Int("profiled_rounds", hclfile.IntSpec{
		Min: 1, Max: ProfiledRoundsMax, Default: 1,
		Why: "with two or more, profiles can be compared with those of another run",
	})
	if len(s.Labels("capture")) == 0 {
		s.AttrProblem("profiled_rounds", "profiled_rounds is set, but the scenario has no capture",
			`add a capture such as capture "cpu" {}, or remove it`)
	}
	return n
}
