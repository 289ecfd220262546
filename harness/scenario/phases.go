package scenario

import (
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var phasesBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: []string{"warmup", "window", "drain"}},
	Example: `phases { window = "10s" }`, Required: true, Once: true,
}

// readPhases reads phases { warmup window drain }.
func readPhases(s *hclfile.Block) Phases {
	blocks := s.Blocks("phases", phasesBlock)
	if len(blocks) == 0 {
		return Phases{}
	}
	b := blocks[0]
	return Phases{
		Warmup: b.Duration("warmup", hclfile.DurationSpec{Max: time.Hour, Default: time.Second}),
		Window: b.Duration("window", hclfile.DurationSpec{
			Min: 100 * time.Millisecond, Max: 24 * time.Hour, Required: true,
		}),
		Drain: b.Duration("drain", hclfile.DurationSpec{
			Min: time.Second, Max: time.Hour, Default: 30 * time.Second,
		}),
	}
}
