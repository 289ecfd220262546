package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	const from = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n"
	to := strings.Replace(strings.Replace(from, "\n5\n", "\nfive\nnew\n", 1), "15\n", "15", 1)
	assert.Equal(t, `--- a.hcl
+++ a.hcl
@@ -2,7 +2,8 @@
 2
 3
 4
-5
+five
+new
 6
 7
 8
@@ -12,4 +13,4 @@
 12
 13
 14
-15
+15
\ No newline at end of file
`, Diff("a.hcl", from, to))
	assert.Empty(t, Diff("a.hcl", from, from))
	assert.Equal(t, "--- a\n+++ a\n@@ -0,0 +1,1 @@\n+x\n", Diff("a", "", "x\n"))
	large := strings.Repeat("a\n", diffLinesMax+1)
	assert.Equal(t, diffLinesMax+1, strings.Count(Diff("a", large, "b\n"), "\n-a"))
}

// Differences whose contexts overlap are in one hunk: no line is in two.
func TestDiffJoinsHunks(t *testing.T) {
	for equal, hunks := range map[int]int{2: 1, 6: 1, 7: 2} {
		between := strings.Repeat("same\n", equal)
		assert.Equal(t, hunks, strings.Count(Diff("a", "x\n"+between+"y\n", "1\n"+between+"2\n"), "@@ -"), "%d lines between", equal)
	}
}

// Above the bound, no line is matched with the other text.
func TestDiffIsBounded(t *testing.T) {
	half := strings.Repeat("a\n", diffLinesMax/2)
	assert.Contains(t, Diff("a", half+"same\n"+half, "b\nsame\nb\n"), "\n+same\n")
	assert.Contains(t, Diff("a", "1\nsame\n2\n", "b\nsame\nb\n"), "\n same\n")
}

// The removed and added lines of a diff transform one text into the other.
func TestDiffHasBothTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n"}), 0, 30), func(l []string) string { return strings.Join(l, "") })
		from, to := text.Draw(t, "from"), text.Draw(t, "to")
		var a, b string
		for _, e := range edited(lines(from), lines(to)) {
			if e.mark != '+' {
				a += e.line
			}
			if e.mark != '-' {
				b += e.line
			}
		}
		require.Equal(t, from, a)
		require.Equal(t, to, b)
		require.Equal(t, from == to, Diff("x", from, to) == "")
	})
}
