package duet

import (
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// The kernel maps program code by large pages if the file was just linked. If the kernel has read
// the file again since, it maps the code by small pages. Because of this, the CPU time of identical
// servers differs by 1 to 2 %. Therefore the processes of both sides request small pages
// (proc.Settings). If a kernel still uses large pages, there is a warning.
const largeCodeWarning = "the kernel maps program code by large pages, though the duet asked for small ones: the same code takes up to 2 % less CPU time " +
	"in large pages, and the sides may have different shares of them. Measure on Linux 6.12 or later"

// code describes how the kernel maps the program code of the processes of a side. A field is nil if
// the kernel does not report it or if there is no such process.
type code struct{ servers, generator *observe.CodePages }

// readCode stores in g how the kernel maps the program code of both sides. It must be called after
// all measurements, while the processes are still running.
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
