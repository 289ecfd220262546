package main

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// addedLine is a line that a diff adds.
type addedLine struct {
	file   string
	number int
	text   string
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)`)

// added returns the added lines of a diff without context.
func added(diff string) (all []addedLine) {
	file, number := "", 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "+++ "):
			file = strings.TrimPrefix(strings.TrimPrefix(line, "+++ "), "b/")
		case strings.HasPrefix(line, "@@ "):
			if m := hunk.FindStringSubmatch(line); m != nil {
				number, _ = strconv.Atoi(m[1]) // digits, by the pattern
			}
		case strings.HasPrefix(line, "+"):
			all = append(all, addedLine{file, number, line[1:]})
			number++
		}
	}
	return all
}

var (
	// generated are files that a program writes from other text.
	generated = regexp.MustCompile(`(\.pb(\.gw)?\.go|_vtproto|/testdata/|^reports/(data|selftest|history|scenarios|plots)/|^reports/[^/]*\.md$)`)
	comment   = regexp.MustCompile(`^\s*(?://|#)\s?(.*)`)
	quoted    = regexp.MustCompile(`"((?:[^"\\]|\\.){25,})"`)
)

// prose returns the texts of a line: a comment, the long strings of code, or a line of a document
// outside of tables.
func prose(file, line string) (texts []string) {
	hasComments := file == "Makefile" || strings.HasPrefix(file, "ci/") || strings.HasPrefix(file, ".ci/")
	switch path.Ext(file) {
	case ".md":
		if generated.MatchString(file) || strings.HasPrefix(line, "|") {
			return nil
		}
		return []string{line}
	case ".go", ".proto", ".hcl":
		hasComments = true
	}
	if !hasComments || generated.MatchString(file) {
		return nil
	}
	if m := comment.FindStringSubmatch(line); m != nil {
		return []string{m[1]}
	}
	for _, m := range quoted.FindAllStringSubmatch(line, -1) {
		if strings.Count(m[1], " ") >= 4 { // shorter ones are names and values
			texts = append(texts, m[1])
		}
	}
	return texts
}
