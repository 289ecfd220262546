package duet

import (
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// A build runs from files that were just linked, or that the kernel has read again since it dropped
// them from memory. The kernel maps the former by large pages and the latter by small ones, and
// identical servers then differ by 1 to 2 % of CPU time. So the processes of both sides have small
// pages only (proc.Settings). A kernel that gives them large ones all the same is a warning.
const largeCodeWarning = "the kernel maps program code by large pages, though the duet asked for small ones: the same code takes up to 2 % less CPU time " +
	"in large pages, and the sides may have different shares of them. Measure on Linux 6.12 or later"

// code is how the kernel maps the program code of a side's processes. Nil: it does not say, or there is no such process.
type code struct{ servers, generator *observe.CodePages }

// readCode stores how the kernel maps the program code of both sides. It is called while the
// processes run and nothing is measured any more.
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
