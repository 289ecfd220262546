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
	// stalledShare is a fraction of the median rate of a side's slices. A slice whose rate is below
	// this fraction is marked as stalled.
	stalledShare = 0.25
	// marksMax bounds the number of marks of a generation.
	marksMax = 10
)

// watchHost watches the host until the returned function is called. The processes of both sides do
// not count as foreign processes.
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

// judge decides whether a generation counts, from the signals of the host and the number of cycles
// of each side. It also marks stalled slices.
func (c *conductor) judge(g *result.Generation) {
	j := validity.Signals(g.Signals, c.scenario.Validity)
	for _, reason := range j.Reasons {
		fault(g, result.Invalid, reason)
	}
	g.Marks = append(g.Marks, j.Warnings...)
	if len(j.Unknown) > 0 {
		c.warn("this host does not report these signals, so they were not judged: " + strings.Join(j.Unknown, ", "))
	}
	c.checkCycles(g)
	g.Marks = append(g.Marks, c.stalled(g.Slices)...)
}

// checkCycles records a fault of a side that completed no cycle. The cost per cycle of such a side
// is undefined.
func (c *conductor) checkCycles(g *result.Generation) {
	for i := range g.Sides {
		if s := &g.Sides[i]; s.Cycles == 0 {
			reason := "no cycle was completed in the closed phase"
			s.Faults = append(s.Faults, reason)
			fault(g, result.Invalid, c.sides[i].Name+": "+reason)
		}
	}
}

// stalled describes the slices whose rate was far below the median rate of their side. The
// description contains the CPU time of each process during the slice. It distinguishes a process
// that waited for the disk from a process that computed.
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
		marks = append(marks, fmt.Sprintf("slice %d, of %s: %d cycles in %.1f ms, expected %.0f at the median rate; CPU time in the slice: its servers %.1f ms, its generator %.1f ms, the other side's servers %.1f ms",
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
