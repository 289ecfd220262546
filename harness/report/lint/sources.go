package lint

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
)

// Sources checks the sources of pages, whose figures come from data: a number with a unit of
// measurement in their prose is a finding. Numbers in code spans, in actions ({{...}}) and in link
// addresses are allowed: sizes and settings are written as code.
func Sources(paths ...string) (all []Finding, err error) {
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		d := &document{path: path, source: source}
		prose := source
		for _, aside := range notProse {
			prose = aside.ReplaceAllFunc(prose, blank)
		}
		for _, found := range measure.FindAllSubmatchIndex(prose, -1) {
			all = append(all, d.finding(found[2], Typed, "%q is typed by hand: write {{figure \"SCENARIO\" \"METRIC\"}} instead, or `%s` if it is a size or a setting",
				source[found[2]:found[3]], source[found[2]:found[3]]))
		}
	}
	return all, nil
}

// notProse matches the parts of a source that Sources ignores.
var notProse = []*regexp.Regexp{
	regexp.MustCompile(`(?s)\{\{.*?\}\}`),
	regexp.MustCompile("(?ms)^```.*?^```"),
	regexp.MustCompile("`[^`\n]*`"),
	regexp.MustCompile(`\]\([^)\n]*\)`),
}

// measure matches a number with a unit of measurement. "64 tasks" and "3 nodes" are counts of the
// configuration, and do not match.
var measure = regexp.MustCompile(`(?:^|[^\w.,])(\d[\d,]*(?:\.\d+)?(?:\s?[a-zµ]+/(?:s|cycle|second)|[\s-]?(?:%|µs|us|ms|ns|s|min|h|[kKMGT]i?B|B)|[\s-](?:percent|times|bytes|seconds?|minutes?|hours?|milliseconds?|microseconds?|CPUs?|cores?)|\s?x))(?:[^\w]|$)`)

// blank replaces each byte of a text except line ends by a space, so that offsets do not change.
func blank(text []byte) []byte {
	spaces := bytes.Repeat([]byte(" "), len(text))
	for i, b := range text {
		if b == '\n' {
			spaces[i] = b
		}
	}
	return spaces
}
