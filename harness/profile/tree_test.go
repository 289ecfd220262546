package profile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// treeOf writes a CPU profile with these stacks, outermost function first and joined by spaces, and
// returns its tree.
func treeOf(t require.TestingT, dir string, stacks map[string]int64, callsMax int) (*Call, error) {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
	}
	at := map[string]*profile.Location{}
	for stack, value := range stacks {
		s := &profile.Sample{Value: []int64{1, value}}
		for _, function := range strings.Fields(stack) {
			if at[function] == nil {
				f := &profile.Function{ID: uint64(len(at) + 1), Name: function}
				at[function] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, at[function])
			}
			s.Location = append([]*profile.Location{at[function]}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	file := filepath.Join(dir, "cpu.pb.gz")
	require.NoError(t, writeProfile(file, p))
	return Tree(dir, result.Profile{Kind: "cpu", File: "cpu.pb.gz"}, callsMax)
}

// outline formats a tree as lines with their depths.
func outline(c *Call, depth int) string {
	text := fmt.Sprintf("%s%s %d", strings.Repeat(" ", depth), c.Function, c.Value)
	if c.Omitted > 0 {
		text += fmt.Sprintf(" omitted %d", c.Omitted)
	}
	text += "\n"
	for _, callee := range c.Calls {
		text += outline(callee, depth+1)
	}
	return text
}

func TestTree(t *testing.T) {
	stacks := map[string]int64{"main a": 10, "main a b": 30, "main c": 5, "main c a": 1, "gc": 20, "main a b a": 2}
	tree, err := treeOf(t, t.TempDir(), stacks, 100)
	require.NoError(t, err)
	assert.Equal(t, ` 68
 main 48
  a 42
   b 32
    a 2
  c 6
   a 1
 gc 20
`, outline(tree, 0))
	tree, err = treeOf(t, t.TempDir(), stacks, 3)
	require.NoError(t, err)
	assert.Equal(t, ` 68
 main 48
  a 42
   b 32
     2 omitted 1
   6 omitted 1
  20 omitted 1
`, outline(tree, 0))
}

func TestTreeKeepsTheTotalInSoManyCalls(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		stacks := rapid.MapOfN(rapid.StringMatching(`[a-d]( [a-d]){0,5}`), rapid.Int64Range(1, 50), 1, 20).Draw(t, "stacks")
		most := rapid.IntRange(0, 30).Draw(t, "most")
		tree, err := treeOf(t, dir, stacks, most)
		require.NoError(t, err)
		total := int64(0)
		for _, value := range stacks {
			total += value
		}
		assert.Equal(t, total, tree.Value)
		kept := -1 // the root does not count
		var check func(*Call)
		check = func(c *Call) {
			if c.Omitted == 0 {
				kept++
			}
			below := int64(0)
			for _, callee := range c.Calls {
				below += callee.Value
				check(callee)
			}
			assert.LessOrEqual(t, below, c.Value)
		}
		check(tree)
		assert.LessOrEqual(t, kept, most)
	})
}

func TestTreeIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := golden.Cases(t, "testdata/trees.golden")
	s.Replace(dir, "DIR")
	_, err := treeOf(t, dir, nil, 10)
	assert.ErrorIs(t, err, ErrEmpty)
	_, err = Tree(dir, result.Profile{Kind: "cpu", File: "../cpu.pb.gz"}, 1)
	s.Error(t, "outside", err)
	_, err = Tree(dir, result.Profile{Kind: "cpu", File: "none.pb.gz"}, 1)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Tree(dir, result.Profile{Kind: "heat", File: "cpu.pb.gz"}, 1)
	s.Error(t, "unknown kind", err)
	_, err = Tree(dir, result.Profile{Kind: "mutex", File: "cpu.pb.gz"}, 1)
	s.Error(t, "no values", err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.pb.gz"), []byte("x"), 0o600))
	_, err = Tree(dir, result.Profile{Kind: "cpu", File: "bad.pb.gz"}, 1)
	s.Error(t, "broken", err)
}
