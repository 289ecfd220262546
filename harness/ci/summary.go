package ci

import (
	"fmt"
	"strings"
)

// SummaryMax is GitHub's limit on the summary of a step, in bytes. A longer one is not shown at all.
const SummaryMax = 1 << 20

// Summary returns the judgements as Markdown of at most SummaryMax bytes. What is too long is cut, and a sentence says so.
func Summary(all []Judgement) string {
	var b strings.Builder
	for _, j := range all {
		fmt.Fprintf(&b, "## prony %s: %s: %s\n\n", j.Kind, inline(j.Scenario), j.Verdict)
		b.WriteString(block(j.Text) + "\n")
	}
	return cut(b.String(), SummaryMax)
}

// block sets text as a block of code, in a fence that the text does not have.
func block(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// inline returns text on one line without what Markdown takes as markup.
func inline(text string) string {
	return strings.NewReplacer("<", "&lt;", "`", "'", "[", "(", "]", ")", "@", "at ").Replace(strings.Join(strings.Fields(text), " "))
}

// cut returns text, or its whole lines that fit into most bytes with a sentence that says how much was cut.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const reserved = 256 // for the sentence and the end of a block, whose fence is a few backticks
	kept := text[:max(0, most-reserved)]
	kept = kept[:strings.LastIndexByte(kept, '\n')+1]
	if fence := open(kept); fence != "" {
		kept += fence + "\n"
	}
	return kept + fmt.Sprintf("\nThe text was cut: %d of %d bytes are not shown, since no more than %d are allowed. The run's folder has all of it.\n",
		len(text)-len(kept), len(text), most)
}

// open returns the fence of the block that text ends in, or "".
func open(text string) (fence string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]; {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && line == fence:
			fence = ""
		}
	}
	return fence
}
