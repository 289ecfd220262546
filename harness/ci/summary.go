package ci

import (
	"fmt"
	"strings"
)

// SummaryMax is GitHub's limit on the summary of a step, in bytes. GitHub does not show a longer
// one.
const SummaryMax = 1 << 20

// Summary returns the judgements as Markdown of at most SummaryMax bytes. A longer text is cut, and
// a sentence says so.
func Summary(all []Judgement) string {
	var b strings.Builder
	for _, j := range all {
		fmt.Fprintf(&b, "## prony %s: %s: %s\n\n", j.Kind, inline(j.Scenario), j.Verdict)
		b.WriteString(block(j.Text) + "\n")
	}
	return cut(b.String(), SummaryMax)
}

// block formats text as a code block, with a fence that does not occur in the text.
func block(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// inline returns text on one line without Markdown markup.
func inline(text string) string {
	return strings.NewReplacer("<", "&lt;", "`", "'", "[", "(", "]", ")", "@", "at ").Replace(strings.Join(strings.Fields(text), " "))
}

// cut returns text if it fits into most bytes. Otherwise it returns complete lines of it, followed
// by a sentence with the number of omitted bytes.
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
	return kept + fmt.Sprintf("\nThe text was cut: %d of %d bytes are omitted, because the limit is %d bytes. The run's folder has the complete text.\n",
		len(text)-len(kept), len(text), most)
}

// open returns the fence of the unclosed code block at the end of text, or "".
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

const (
	// commentMax is GitHub's limit on a comment: 65,536 characters. No character is longer in
	// characters than in bytes.
	commentMax = 65536
	// commentMarker begins a comment, so that the next run finds it. It is invisible to readers.
	commentMarker = "<!-- prony comment -->"
	// neutralMarker is the second line of a comment that may only replace an earlier one.
	neutralMarker = "<!-- neutral -->"
)

// Comment returns the judgements as the text of the only comment on a pull request. If all are
// neutral, the text is marked: it then replaces an existing comment, which would be outdated, but
// is not posted as a new one.
func Comment(all []Judgement) string {
	head, neutral := commentMarker+"\n", true
	for _, j := range all {
		neutral = neutral && j.Neutral
	}
	if neutral {
		head += neutralMarker + "\n"
	}
	return head + cut(strings.ReplaceAll(Summary(all), "\r", ""), commentMax-len(head))
}
