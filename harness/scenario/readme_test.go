package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fenced is a block of code in a page.
type fenced struct {
	line       int
	info, text string
}

// fencedBlocks returns the blocks of a page in order.
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

// complete makes a file of an example that shows a part of one: what a scenario must have besides is put around it.
func complete(t *testing.T, example string) string {
	t.Helper()
	parsed, diags := hclsyntax.ParseConfig([]byte(example), "example.hcl", hcl.InitialPos)
	body := parsed.Body.(*hclsyntax.Body)
	if diags.HasErrors() {
		return example // several attributes on a line: then it must be whole
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

// Each example of the language in the documentation is right, and where it shows a mistake, that is said as it is shown.
// Its info string is "hcl", or "hcl wrong" for one that what is said of it follows.
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
				require.Less(t, i+1, len(blocks), "what is said of it follows")
				assert.Equal(t, blocks[i+1].text, strings.ReplaceAll(err.Error(), "../../", "")+"\n")
			})
		}
		assert.Positive(t, examples, page)
	}
}
