package hclfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
)

func firstBlock(body *hclsyntax.Body) *hclsyntax.Block { return body.Blocks[0] }

// For any layout of a block, an edited attribute has its new value, other attributes do not change,
// and no comment is lost.
func TestEditKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.Permutation([]string{"min", "observed", "on", "unobserved", "because"}).Draw(t, "order")
		has := map[string]bool{"because": true}
		var text strings.Builder
		comments := 0
		oneLine := rapid.Bool().Draw(t, "on one line")
		begins := true
		text.WriteString("limit {")
		for _, name := range names {
			if name != "because" && rapid.Bool().Draw(t, "without "+name) {
				continue
			}
			has[name] = true
			before := 0
			if !oneLine {
				before = rapid.IntRange(0, 3).Draw(t, "before "+name)
			}
			switch {
			case before == 0 && (oneLine || !begins):
				text.WriteString("  ")
			case before == 1:
				comments++
				fmt.Fprintf(&text, " # comment %d\n  ", comments)
			case before == 2:
				comments++
				fmt.Fprintf(&text, "\n\n  # comment %d\n    ", comments)
			default:
				text.WriteString("\n\t")
			}
			begins = false
			fmt.Fprintf(&text, "%s = \"old %s\"", name, name)
		}
		ends := []string{"\n}\n", " # behind\n}\n", "\n\n} # behind\n"}
		if oneLine {
			ends = []string{"  }\n", " } # behind\n"}
		}
		text.WriteString(rapid.SampledFrom(ends).Draw(t, "end"))
		src := []byte(text.String())
		want := map[string]string{}
		for name := range has {
			want[name] = "old " + name
		}
		var settings []Setting
		for _, name := range []string{"observed", "on", "unobserved"} {
			switch rapid.IntRange(0, 2).Draw(t, "set "+name) {
			case 0:
				settings = append(settings, Setting{name, `"new"`})
				want[name] = "new"
			case 1:
				settings = append(settings, Setting{Name: name})
				delete(want, name)
			}
		}
		edited, err := Edit(src, "a.hcl", firstBlock, "because", settings)
		require.NoError(t, err, "%s", src)
		r := Reader{}
		got := r.Source("a.hcl", edited, Names{Blocks: []string{"limit"}}).Blocks("limit", Inner{Names: Names{Attributes: names}})
		require.NoError(t, r.Err(), "%s\nfrom\n%s", edited, src)
		require.Len(t, got, 1)
		for _, name := range names {
			assert.Equal(t, want[name], got[0].Text(name, TextSpec{MaxBytes: 100}), "%s in\n%s\nfrom\n%s", name, edited, src)
		}
		for i := range comments {
			assert.Contains(t, string(edited), fmt.Sprintf("# comment %d", i+1), "%s\nfrom\n%s", edited, src)
		}
		again, err := Edit(edited, "a.hcl", firstBlock, "because", settings)
		require.NoError(t, err)
		assert.Equal(t, string(edited), string(again), "a repeated edit has no effect")
	})
}

func TestEditRefuses(t *testing.T) {
	s := golden.Cases(t, "testdata/edits.golden")
	none := func(*hclsyntax.Body) *hclsyntax.Block { return nil }
	_, err := Edit([]byte("a {}\n"), "a.hcl", none, "because", nil)
	s.Error(t, "no block", err)
	_, err = Edit([]byte("\na {}\n"), "a.hcl", firstBlock, "because", nil)
	s.Error(t, "no attribute", err)
	_, err = Edit([]byte("a {\n"), "a.hcl", firstBlock, "because", nil)
	s.Error(t, "no HCL", err)
	_, err = Edit([]byte("a {} # \x00\n"), "a.hcl", firstBlock, "because", nil)
	s.Error(t, "a control character", err)
}
