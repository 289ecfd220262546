package scenario

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// fenced is a fenced code block of a page.
type fenced struct {
	line       int
	info, text string
}

func fencedBlocks(page string) (blocks []fenced) {
	var open *fenced
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &fenced{line: i + 1, info: strings.TrimSpace(info)}
		case fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return blocks
}

// complete turns an example that shows a part of a scenario into a complete file, by adding the
// missing required blocks.
func complete(t *testing.T, example string) string {
	t.Helper()
	parsed, diags := hclsyntax.ParseConfig([]byte(example), "example.hcl", hcl.InitialPos)
	body := parsed.Body.(*hclsyntax.Body)
	if diags.HasErrors() {
		return example // several attributes on a line: the example must be complete
	}
	has := map[string]bool{}
	for _, b := range body.Blocks {
		has[b.Type] = true
	}
	if has["scenario"] {
		return example
	}
	whole := "scenario \"example\" {\n" + example
	for kind, standard := range map[string]string{
		"topology": `topology "single" { durability = "none" }`,
		"workload": "workload \"main\" {\n driver = \"stream\"\n producers = 1\n workers = 1\n}",
		"phases":   `phases { window = "10s" }`,
	} {
		if !has[kind] {
			whole += standard + "\n"
		}
	}
	return whole + "}\n"
}

// Each example of the language in the documentation is valid. Its info string is "hcl". An example
// with the info string "hcl wrong" has mistakes, and the next block of the page must be the exact
// error text.
func TestExamplesOfTheDocumentation(t *testing.T) {
	pages := []string{"../../scenarios/README.md"}
	if _, err := os.Stat("../README.md"); err == nil {
		pages = append(pages, "../README.md")
	}
	for _, page := range pages {
		src, err := os.ReadFile(page)
		require.NoError(t, err)
		examples := 0
		blocks := fencedBlocks(string(src))
		for i, b := range blocks {
			if b.info != "hcl" && b.info != "hcl wrong" || strings.Contains(b.text, "baseline \"") {
				continue
			}
			examples++
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(filepath.Dir(page)), b.line), func(t *testing.T) {
				_, err := parse("../../scenarios/example.hcl", []byte(complete(t, b.text)), nil)
				if b.info == "hcl" {
					require.NoError(t, err)
					return
				}
				require.Error(t, err)
				require.Less(t, i+1, len(blocks), "the error text must follow the example")
				assert.Equal(t, blocks[i+1].text, strings.ReplaceAll(err.Error(), "../../", "")+"\n")
			})
		}
		assert.Positive(t, examples, page)
	}
}

// The list of files has the number of rounds of each scenario and the time of one round, in the
// format of plannedTime. Rows in other formats are for plans that do not fit this format and are
// not checked.
func TestTimesInTheListOfFiles(t *testing.T) {
	readme, err := os.ReadFile("../../scenarios/README.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| \[([^]]+\.hcl)\]\(.*\| ((?:\d+ points? of )?\d+ rounds? of \d+ s) \|$`)
	checked := 0
	for _, m := range row.FindAllStringSubmatch(string(readme), -1) {
		all, err := Load("../../scenarios/" + m[1])
		require.NoError(t, err)
		for _, s := range all {
			assert.Equal(t, plannedTime(s), m[2], s.File)
			checked++
		}
	}
	assert.Positive(t, checked)
}

// plannedTime returns the plan of a scenario in the format of the list of files. It counts profiled
// and calibrating rounds too.
func plannedTime(s *Scenario) string {
	points := len(s.Plan())
	text := fmt.Sprintf("%s of %.0f s", render.Plural(s.PlannedRounds().Total()/points, "round"), (s.Phases.Warmup + s.Phases.Window).Seconds())
	if len(s.Points) == 0 {
		return text
	}
	return render.Plural(points, "point") + " of " + text
}

// blockNames returns the allowed attributes and blocks of each block of the language.
func blockNames() map[string]hclfile.Names {
	return map[string]hclfile.Names{
		"scenario": scenarioNames, "topology": topologyBlock.Names, "target": targetBlock.Names, "hosts": hostsBlock.Names, "settings": settingsBlock.Names, "build": buildBlock.Names, "workload": workloadBlock.Names, "phases": phasesBlock.Names,
		"sweep": sweepBlock.Names, "zip": zipBlock.Names, "fault": faultBlock.Names, "attack": attackBlock.Names, "observe": observeBlock.Names, "recurring": recurringBlock.Names, "backlog": backlogBlock.Names,
		"series": seriesBlock.Names, "invariant": invariantBlock.Names, "limit": limitBlock.Names, "validity": validityBlock.Names,
		"node": remoteNodeBlock.Names, "capture": captureBlock.Names, "score": scoreBlock.Names, "soak": soakBlock.Names, "variable": {}, "include": {},
	}
}

var (
	codeSpan    = regexp.MustCompile("`([^`]+)`")
	linkTarget  = regexp.MustCompile(`\]\(([^)#]+)\)`)
	includePath = regexp.MustCompile(`(?m)^\s*include "([^"]+)"`)
)

// Each row of "I want to …" names existing blocks, attributes and calls, and a scenario that
// contains all of them.
func TestWishesOfTheDocumentation(t *testing.T) {
	const folder = "../../scenarios/"
	src, err := os.ReadFile(folder + "README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(src), "\n## I want to …\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := blockNames()
	rows := 0
	wished := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.Contains(cells[1], "I want to") {
			continue
		}
		rows++
		links := linkTarget.FindAllStringSubmatch(cells[3], -1)
		require.Len(t, links, 1, "%s: one scenario", line)
		text := withIncluded(t, folder+links[0][1])
		_, err := Load(folder + links[0][1])
		require.NoError(t, err)
		said := codeSpan.FindAllStringSubmatch(cells[2], -1)
		assert.NotEmpty(t, said, line)
		for _, span := range said {
			name, isCall := strings.CutSuffix(span[1], "()")
			block, attribute, isAttribute := strings.Cut(name, ".")
			names, isBlock := blocks[block]
			switch {
			case isCall:
				assert.Contains(t, calls(), name, line)
			case name == peak:
			case isAttribute:
				assert.True(t, isBlock, "%s: there is no block %s", line, block)
				assert.Contains(t, names.Attributes, attribute, line)
				name = attribute
			default:
				assert.True(t, isBlock, "%s: there is no block %s", line, name)
			}
			wished[block] = true
			assert.Regexp(t, `\b`+name+`\b`, text, "%s does not contain it: %s", links[0][1], line)
		}
	}
	assert.GreaterOrEqual(t, rows, 25)
	for _, kind := range append(partNames, "include", "variable", "scenario") {
		assert.Contains(t, wished, kind, "no row mentions this block")
	}
}

func calls() (names []string) {
	for _, in := range []*hcl.EvalContext{arrivalsCalls(1), payloadCalls, priorityCalls, delayCalls, resultCalls, readCalls, targetCalls, kindCalls, thinkCalls, uniqueCalls} {
		names = slices.AppendSeq(names, maps.Keys(in.Functions))
	}
	return names
}

// withIncluded returns the text, without comments, of a scenario's file and of the files that it
// includes.
func withIncluded(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	text := regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(string(src), "")
	for _, included := range includePath.FindAllStringSubmatch(text, -1) {
		text += withIncluded(t, filepath.Join(filepath.Dir(path), included[1]))
	}
	return text
}
