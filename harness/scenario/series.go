package scenario

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var seriesBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: []string{"every"}},
	Example: `series { every = "10s" }`, Once: true,
}

const (
	// seriesParts is the number of equal parts of a window for the check of a steady rate. The rate
	// is steady if the last part is like the second.
	seriesParts = 10
	// seriesSamplesMax bounds the memory for the series of a round.
	seriesSamplesMax = 10_000
)

// readSeries reads series { every }, or returns 0 without such a block. A window of 0 is unknown.
func readSeries(s *hclfile.Block, window time.Duration) time.Duration {
	blocks := s.Blocks("series", seriesBlock)
	if len(blocks) == 0 {
		return 0
	}
	b := blocks[0]
	every := b.Duration("every", hclfile.DurationSpec{Min: 10 * time.Millisecond, Max: time.Hour, Required: true})
	switch {
	case every == 0 || window == 0:
	case window%(seriesParts*every) != 0:
		b.AttrProblem("every", fmt.Sprintf("the window of %s is not a multiple of %d times %s: its first and last tenths would not begin and end at a sample",
			hclfile.FormatDuration(window), seriesParts, hclfile.FormatDuration(every)),
			fmt.Sprintf("write every = %q", hclfile.FormatDuration(window/seriesParts)))
	case window/every > seriesSamplesMax:
		b.AttrProblem("every", fmt.Sprintf("a window of %s has %d samples; the maximum is %d",
			hclfile.FormatDuration(window), window/every, seriesSamplesMax), "sample less often")
	}
	return every
}
