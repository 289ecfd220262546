package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readOnly are the commands that only read scenarios, so the test can check their output in the
// documentation.
var readOnly = []string{"validate", "explain", "list"}

// The documentation shows the output of commands: a code block whose first line is "$ prony ..."
// has the command and its output. A last line "..." stands for further output.
func TestCommandsOfTheDocumentation(t *testing.T) {
	t.Chdir("../../..")
	shown := 0
	for _, page := range []string{"scenarios/README.md", "harness/README.md"} {
		src, err := os.ReadFile(page)
		if os.IsNotExist(err) && page == "harness/README.md" {
			continue
		}
		require.NoError(t, err)
		for _, block := range strings.Split(string(src), "\n```")[1:] {
			_, text, _ := strings.Cut(block, "\n")
			line, output, _ := strings.Cut(text, "\n")
			args, is := strings.CutPrefix(line, "$ prony ")
			command, _, _ := strings.Cut(args, " ")
			if !is || !slices.Contains(readOnly, command) {
				continue
			}
			shown++
			t.Run(args, func(t *testing.T) {
				got := prony(t, strings.Fields(args)...)
				printed := strings.TrimSuffix(got.stdout+got.stderr, "\n")
				if beginning, more := strings.CutSuffix(output, "\n..."); more {
					assert.Contains(t, printed, beginning)
					return
				}
				assert.Equal(t, output, printed)
			})
		}
	}
	assert.Positive(t, shown)
}
