package pages

import (
	"fmt"
	"regexp"
	"strings"
)

// headings are the sections of every page, in their order.
var headings = []string{
	"Question", "Answer", "How it was measured", "Findings", "What it costs", "What limits it", "What would be next", "Not measured",
}

// Bounds of the number of lines of a page, without the table of its figures.
const (
	linesMin = 60
	linesMax = 120
)

type section struct {
	heading string
	line    int // line of the heading in the text of the page
	text    string
}

// sectionsOf splits a text at its headings of the second level. Text before the first one is a
// section without a heading.
func sectionsOf(text string) []section {
	all := []section{{line: 1}}
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading, is := strings.CutPrefix(line, "## "); is && !fenced {
			all = append(all, section{heading: strings.TrimSpace(heading), line: i + 1})
			continue
		}
		all[len(all)-1].text += line + "\n"
	}
	for i := range all {
		all[i].text = strings.TrimSpace(all[i].text)
	}
	return all
}

func firstParagraph(text string) string {
	paragraph, _, _ := strings.Cut(text, "\n\n")
	return strings.Join(strings.Fields(paragraph), " ")
}

// checked returns the question and the answer of a page, and all problems of the page as a whole.
func checked(p *page, text string, plots int) (question, answer string, problems []*Problem) {
	wrong := func(line int, format string, args ...any) {
		problems = append(problems, &Problem{p.source, line, fmt.Sprintf(format, args...)})
	}
	sections := sectionsOf(text)
	if sections[0].text != "" {
		wrong(1, "there is text before the first heading: begin with ## %s; the title is that of %s", headings[0], setFile)
	}
	var has []string
	for _, s := range sections[1:] {
		has = append(has, s.heading)
		if s.text == "" {
			wrong(s.line, "the section %q is empty", s.heading)
		}
		switch s.heading {
		case "Question":
			question = firstParagraph(s.text)
		case "Answer":
			answer = firstParagraph(s.text)
			if n := sentences(answer); n != 1 {
				wrong(s.line, "the answer is %d sentences: write one in the first paragraph, and more in the next", n)
			}
			if !strings.Contains(answer, "](#"+figuresAnchor+")") {
				wrong(s.line, "the answer has no figure: write one with {{figure ...}} or {{ratio ...}}")
			}
		}
	}
	if got, want := strings.Join(has, ", "), strings.Join(headings, ", "); got != want {
		wrong(1, "the sections are %s: every page has these, in this order: %s", orNone(got), want)
	}
	if question != "" && !strings.HasSuffix(question, "?") {
		wrong(1, "the question does not end with a question mark")
	}
	if plots == 0 {
		wrong(1, "the page has no plot: show one with {{plot ...}}, or explain why not with {{noplot ...}}")
	}
	return question, answer, problems
}

var (
	codeSpan    = regexp.MustCompile("`[^`]*`")
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.!?](?:\s|$)`)
)

// sentences counts the sentences of a paragraph, without code.
func sentences(paragraph string) int {
	plain := linkTarget.ReplaceAllString(codeSpan.ReplaceAllString(paragraph, "code"), "")
	return len(sentenceEnd.FindAllString(plain, -1))
}
