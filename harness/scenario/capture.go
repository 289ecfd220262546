package scenario

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const (
	// defaultMutexFraction samples one in five contended unlocks: a window of seconds has very many of them,
	// and taking a stack for each would itself hold locks longer.
	defaultMutexFraction = 5
	// defaultBlockRate samples shorter waits in proportion to their length: at 10 us a wait of 1 us is taken
	// one time in ten.
	defaultBlockRate = 10 * time.Microsecond
)

var captureKinds = []string{"cpu", "mutex", "block", "allocs", "goroutine"}

var captureBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"rate"}},
	Label: "kind", Example: `capture "mutex" {}`,
}

// cpuWindowLeast is the shortest window that the server's CPU profiler, which is asked in whole seconds, covers.
const cpuWindowLeast = time.Second

// readCaptures reads each capture "KIND" { rate }. A window of 0 is one that is not known.
func readCaptures(s *hclfile.Block, window time.Duration) []Capture {
	var captures []Capture
	seen := map[string]string{}
	for _, b := range s.Blocks("capture", captureBlock) {
		c := Capture{Kind: b.Kind(captureKinds, nil)}
		switch c.Kind {
		case "mutex":
			c.MutexFraction = b.Int("rate", hclfile.IntSpec{
				Min: 1, Max: 1_000_000, Default: defaultMutexFraction,
				Why: "one in so many contended unlocks is sampled; 1 samples each",
			})
		case "block":
			c.BlockRate = b.Duration("rate", hclfile.DurationSpec{
				Min: time.Nanosecond, Max: time.Second, Default: defaultBlockRate,
			})
		case "":
			continue
		default:
			if b.Has("rate") {
				b.AttrProblem("rate", fmt.Sprintf("capture %q takes no rate", c.Kind), "only mutex and block do; remove it")
			}
		}
		if c.Kind == "cpu" && window > 0 && window < cpuWindowLeast {
			b.LabelProblem(0, fmt.Sprintf("capture %q needs a window of at least 1s; it is %s", c.Kind, hclfile.FormatDuration(window)),
				`write window = "1s", or remove the capture`)
		}
		if first, twice := seen[c.Kind]; twice {
			b.LabelProblem(0, fmt.Sprintf("capture %q is given twice", c.Kind), "the first is at "+first+"; keep one of the two")
			continue
		}
		seen[c.Kind] = b.Where()
		captures = append(captures, c)
	}
	return captures
}
