package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// causesSection shows the causes of a difference. For a duet it also shows the search, even if no
// cause was found.
func causesSection(p *doc.Document, c *comparison, durability string) {
	if len(c.Causes) == 0 && c.Search == nil {
		return
	}
	p.Heading(2, "What explains a difference, durability %s", doc.Code(durability))
	if c.Search == nil {
		p.Paragraph("The most likely cause is first. The evidence comes from the profiled rounds, the stages and the counters of both sides.")
	} else {
		p.Paragraph("%s", doc.Escape(searchText(c.Search)))
		p.Paragraph("%s", doc.Escape(foundText(c.Comparison)))
	}
	p.List(causes(c.Causes))
}

// searchText describes the search for causes.
func searchText(s *result.CauseSearch) string {
	from := "counters of all generations, without profiles"
	if s.Generations > 0 {
		from = render.Plural(s.Generations, "profiled generation")
		if s.Seconds > 0 {
			from += fmt.Sprintf(" (%s s)", render.Digits(s.Seconds, 3))
		}
		from += " and counters of all generations"
	}
	least := fmt.Sprintf("%s of the time per cycle", render.PercentTo(s.Share, 0))
	if len(s.Losses) > 0 {
		var losses []string
		for _, l := range s.Losses {
			losses = append(losses, fmt.Sprintf("%s of %s", render.Nanoseconds(1e3*l.Us), l.Of))
		}
		least = fmt.Sprintf("%s of the loss per cycle (%s)", render.PercentTo(s.Share, 0), strings.Join(losses, ", "))
	}
	return fmt.Sprintf("Tested: %s of functions, locks, stages and fsyncs, from %s. A cause costs at least %s more, and its interval excludes zero."+
		" All intervals together have %s confidence.", render.Plural(s.LookedAt, "difference"), from, least, render.PercentTo(s.Confidence, 0))
}

// foundText returns the sentence before the list of causes, or a sentence that explains an empty
// list.
func foundText(c *result.Comparison) string {
	if len(c.Causes) == 0 {
		return "No cause found: no difference is both certain and that large. The loss may be spread over many functions, or be in something that was not tested."
	}
	return "Causes, the largest first:"
}
