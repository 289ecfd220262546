package duet

import (
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// The kernel maps program code by large pages if the file was just linked, and by small pages if it
// has read the file again since. Identical servers then differ by 1 to 2 % of CPU time. Therefore
// the processes of both sides request small pages (proc.Settings). A kernel that still uses large
// pages causes a warning.
const largeCodeWarning = "the kernel maps program code by large pages, though the duet asked for small ones: the same code takes up to 2 % less CPU time " +
	"in large pages, and the sides may have different shares of them. Measure on Linux 6.12 or later"

// code describes how the kernel maps the program code of a side's processes. A field is nil if the
// kernel does not report it or there is no such process.
type code struct{ servers, generator *observe.CodePages }

// readCode stores how the kernel maps the program code of both sides. It must be called while the
// processes run, after all measurements.
func (c *conductor) readCode(g *result.Generation, parties [2]party) {
	for i, p := range parties {
		of, err := p.code()
		if err != nil {
			c.line("  generation %d: %v", g.Number, err)
			c.warn("how the kernel maps the program code of both sides could not be read")
			return
		}
		g.Sides[i].ServerCode, g.Sides[i].ClientCode = c.stored(of.servers), c.stored(of.generator)
	}
}

func (c *conductor) stored(p *observe.CodePages) *result.CodePages {
	if p == nil {
		return nil
	}
	if p.Large > 0 {
		c.warn(largeCodeWarning)
	}
	return &result.CodePages{ResidentMB: float64(p.Resident) / 1e6, LargeMB: float64(p.Large) / 1e6}
}
