package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// block is a code block of the README.
type block struct {
	kind, text string
	line       int
}

func blocks(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "harness", "k6", "README.md"))
	require.NoError(t, err)
	var all []block
	var open *block
	for i, line := range strings.Split(string(text), "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{kind: kind, line: i + 1}
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	require.Nil(t, open, "a block without an end")
	return all
}

// Each script of the README succeeds, one after the other against the same server. Each wrong script
// fails with the error in the next block.
func TestScriptsOfTheReadme(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run, failed := 0, 0
	for i, all := 0, blocks(t); i < len(all); i++ {
		b := all[i]
		name := "line " + strconv.Itoa(b.line)
		switch b.kind {
		case "js", "ts":
			run++
			t.Run(name, func(t *testing.T) {
				o := start(t, s.environment(), script(t, "script."+b.kind, b.text))()
				require.Zero(t, o.code)
				o.judged(t)
				assert.NotContains(t, o.printed, "prony: ", "no error is logged")
			})
		case "js wrong":
			failed++
			require.Less(t, i+1, len(all))
			shown := all[i+1]
			require.Equal(t, "text", shown.kind, "the block after %s", name)
			t.Run(name, func(t *testing.T) {
				o := start(t, s.environment(), script(t, "script.js", b.text))()
				for line := range strings.Lines(shown.text) {
					assert.Contains(t, o.printed, strings.TrimSpace(line))
				}
			})
		}
	}
	assert.GreaterOrEqual(t, run, 9)
	assert.GreaterOrEqual(t, failed, 4)
}

func TestTheReadmeListsEachScript(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "harness", "k6", "README.md"))
	require.NoError(t, err)
	for name := range shortened {
		assert.Contains(t, string(text), "| ["+name+"](../../scenarios/k6/"+name+") |")
	}
}

// The README's scripts use each call that index.d.ts declares.
func TestTheReadmeShowsEachCall(t *testing.T) {
	t.Parallel()
	var scripts strings.Builder
	for _, b := range blocks(t) {
		if b.kind == "js" {
			scripts.WriteString(b.text)
		}
	}
	for _, of := range []string{"module", "Client", "Producer", "Worker", "Admin", "Load"} {
		for _, name := range shapes(t)[of] {
			switch name {
			case "instance", "tenants", "producers", "workers", "sending": // named in the text, or fields
				continue
			}
			assert.Contains(t, scripts.String(), name, of)
		}
	}
}
