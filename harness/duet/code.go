package duet

import (
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// codeDifferenceMax is by how much the parts of both sides' program code that are in large pages may differ. Identical servers with all code and
// with no code in large pages differ by 1 to 2 % of CPU time, so that a quarter of that is less than what a duet can tell. A large page is about
// an eighth of the server's code, and another layout of the same code may have one page more or less.
const codeDifferenceMax = 0.25

// code is how the kernel maps the program code of a side's processes. Nil: it does not say, or there is no such process.
type code struct{ servers, generator *observe.CodePages }

// checkCode stores how the kernel maps the program code of both sides, and drops the generation if it does so differently: the figures then
// compare two files in the page cache, not two builds. It is called while the processes run and nothing is measured any more.
func (c *conductor) checkCode(g *result.Generation, parties [2]party) {
	for i, p := range parties {
		of, err := p.code()
		if err != nil {
			c.line("  generation %d: %v", g.Number, err)
			c.warn("how the kernel maps the program code of both sides could not be read, and was not judged")
			return
		}
		g.Sides[i].ServerCode, g.Sides[i].ClientCode = stored(of.servers), stored(of.generator)
	}
	base, change := &g.Sides[Base], &g.Sides[Change]
	c.compareCode(g, "servers", base.ServerCode, change.ServerCode)
	c.compareCode(g, "generators", base.ClientCode, change.ClientCode)
}

func (c *conductor) compareCode(g *result.Generation, of string, base, change *result.CodePages) {
	if base == nil || change == nil {
		return
	}
	ofBase, ofChange := base.LargeShare(), change.LargeShare()
	if math.Abs(ofBase-ofChange) <= codeDifferenceMax {
		return
	}
	fault(g, result.Invalid, fmt.Sprintf("the kernel maps the program code of the %s differently, and that alone changes CPU time: %.0f %% of it by large pages for %s, "+
		"and %.0f %% for %s. It dropped a file from memory and read it again, or the files were not written alike: measure again, which writes both anew",
		of, 100*ofBase, c.sides[Base].Name, 100*ofChange, c.sides[Change].Name))
}

func stored(p *observe.CodePages) *result.CodePages {
	if p == nil {
		return nil
	}
	return &result.CodePages{ResidentMB: float64(p.Resident) / 1e6, LargeMB: float64(p.Large) / 1e6}
}
