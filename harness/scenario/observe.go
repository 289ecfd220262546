package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Observe configures observation of the servers during the windows of timed rounds, so that a sweep
// can measure its cost. Without it the harness reads the servers' metrics only at both ends of a
// window.
type Observe struct {
	// Scrape is the interval at which the metrics of each server are read; 0: never.
	Scrape time.Duration `json:"-"`
	// Profiles makes the servers record the profiles of Captures.
	Profiles bool `json:"profiles"`
}

// MarshalJSON writes the duration as text.
func (o Observe) MarshalJSON() ([]byte, error) { return json.Marshal(o.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Observe) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, o.stored()) }

func (o *Observe) stored() any {
	type plain Observe
	return &struct {
		*plain
		Scrape *duration `json:"scrape,omitzero"`
	}{(*plain)(o), (*duration)(&o.Scrape)}
}

// Captures returns the profiles that the servers record if Profiles is true, at the default rates
// of captures.
func (o *Observe) Captures() []Capture {
	if o == nil || !o.Profiles {
		return nil
	}
	return []Capture{
		{Kind: captureCPU}, {Kind: captureMutex, MutexFraction: defaultMutexFraction}, {Kind: captureBlocking, BlockRate: defaultBlockRate},
	}
}

var observeTable = table[Observe]{
	durationAttr(func(o *Observe) *time.Duration { return &o.Scrape }, hclfile.DurationSpec{Max: scrapeMost}, attribute[Observe]{
		name: "scrape",
		doc:  "10ms to 1h: the interval at which `/metrics` of each server is read within the window, as a monitoring system does; `\"0s\"`: never",
	}),
	boolean(func(o *Observe) *bool { return &o.Profiles }, attribute[Observe]{
		name: "profiles",
		doc:  "{}: the servers record CPU, mutex and block profiles in the window, at the default rates of `capture`. It needs a window of at least 1s. The profiles are discarded",
	}),
}

var observeBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: observeTable.names()},
	Example: `observe { scrape = "1s" }`, Once: true,
}

const (
	scrapeLeast = 10 * time.Millisecond
	scrapeMost  = time.Hour
)

// readObserve reads observe { scrape profiles }, or returns nil without such a block. A window of 0
// is unknown.
func readObserve(s *hclfile.Block, kind string, window time.Duration) *Observe {
	blocks := s.Blocks("observe", observeBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	o := &Observe{}
	observeTable.read(b, o)
	switch {
	case o.Scrape > 0 && o.Scrape < scrapeLeast:
		b.AttrProblem("scrape", fmt.Sprintf("scrape is %s; it must be at least %s, or \"0s\" to read no metrics", hclfile.FormatDuration(o.Scrape), hclfile.FormatDuration(scrapeLeast)),
			`write scrape = "1s"`)
	case o.Scrape > 0 && window > 0 && o.Scrape > window:
		b.AttrProblem("scrape", fmt.Sprintf("scrape is %s, and the window of %s ends before the first reading",
			hclfile.FormatDuration(o.Scrape), hclfile.FormatDuration(window)), "read more often, or lengthen the window")
	}
	if o.Profiles && window > 0 && window < cpuWindowLeast {
		b.AttrProblem("profiles", fmt.Sprintf("profiles need a window of at least 1s; it is %s", hclfile.FormatDuration(window)), `write window = "1s"`)
	}
	if kind == NoTopology {
		b.Problem(fmt.Sprintf("%s has no server to observe", s), "remove the block, or use another topology")
	}
	return o
}
