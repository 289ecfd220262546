package e2e

import (
	"regexp"
	"strings"
)

var knob = regexp.MustCompile(`\b(?:number|duration)\('([A-Z0-9_]+)'`)

// headOf returns the comment at the top of a script.
func headOf(text string) string {
	var head []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "//") {
			break
		}
		head = append(head, line)
	}
	return strings.Join(head, "")
}

// knobsOf returns the parameters that a script reads.
func knobsOf(text string) []string {
	var names []string
	for _, match := range knob.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}
