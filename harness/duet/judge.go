package duet

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/validity"
)

const (
	// stalledShare is the part of the median rate of its side's slices below which a slice is marked.
	stalledShare = 0.25
	// marksMax bounds the marks of a generation.
	marksMax = 10
)

// watchHost watches the host until what it returns is called. The processes of both sides are the duet's own.
func watchHost(parties [2]party) func() result.Signals {
	watch := observe.StartWatch(observe.WatchConfig{OwnCPU: func() (time.Duration, error) {
		sum, err := observe.ProcessCPU(os.Getpid())
		for _, p := range parties {
			if err != nil {
				return 0, err
			}
			var c clocks
			c, err = p.cpu()
			sum += c.servers + c.generator
		}
		return sum, err
	}})
	return watch.Stop
}

// judge judges whether a generation counts, as far as its slices and the host's signals say, and marks slices that stalled.
func (c *conductor) judge(g *result.Generation) {
	j := validity.Signals(g.Signals, c.scenario.Validity)
	for _, reason := range j.Reasons {
		fault(g, result.Invalid, reason)
	}
	g.Marks = append(g.Marks, j.Warnings...)
	if len(j.Unknown) > 0 {
		c.warn("this host does not say, so it could not be judged: " + strings.Join(j.Unknown, ", "))
	}
	c.checkCycles(g)
	g.Marks = append(g.Marks, c.stalled(g.Slices)...)
}

// checkCycles makes it a fault of a side if it completed nothing: there is no cost per cycle then.
func (c *conductor) checkCycles(g *result.Generation) {
	for i := range g.Sides {
		if s := &g.Sides[i]; s.Cycles == 0 {
			reason := "no cycle was completed in the closed phase"
			s.Faults = append(s.Faults, reason)
			fault(g, result.Invalid, c.sides[i].Name+": "+reason)
		}
	}
}

// stalled describes the slices that did less than a part of what their side did in its median slice, with how long each process was on a
// CPU meanwhile: one that waited for the disk was not, and one that computed was.
func (c *conductor) stalled(all []result.Slice) (marks []string) {
	var rates [2][]float64
	for _, s := range all {
		rates[s.Side] = append(rates[s.Side], rateOf(s))
	}
	var median [2]float64
	for i := range rates {
		slices.Sort(rates[i])
		if n := len(rates[i]); n > 0 {
			median[i] = rates[i][n/2]
		}
	}
	for n, s := range all {
		if rateOf(s) >= stalledShare*median[s.Side] {
			continue
		}
		if len(marks) == marksMax {
			return append(marks, "further slices stalled as well")
		}
		marks = append(marks, fmt.Sprintf("slice %d, of %s: %d cycles in %.1f ms, and the median slice does %.0f in that time; on a CPU meanwhile: its servers %.1f ms, its generator %.1f ms, the other side's servers %.1f ms",
			n+1, c.sides[s.Side].Name, s.Cycles, 1e3*s.Seconds, median[s.Side]*s.Seconds, float64(s.ServerCPUNs)/1e6, float64(s.ClientCPUNs)/1e6, float64(s.OtherCPUNs)/1e6))
	}
	return marks
}

func rateOf(s result.Slice) float64 {
	if s.Seconds <= 0 {
		return 0
	}
	return float64(s.Cycles) / s.Seconds
}

// warn adds a warning to the result, once.
func (c *conductor) warn(text string) {
	if !slices.Contains(c.duet.Warnings, text) {
		c.duet.Warnings = append(c.duet.Warnings, text)
	}
}

func firstLine(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(reasons[0], "\n")
	return first
}
