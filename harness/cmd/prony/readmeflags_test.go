package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commandLines matches calls of prony in a page: as code in a sentence, in a shell block, or after
// its prompt.
var commandLines = regexp.MustCompile("(?m)(?:`|^\\$ |^)(?:bin/)?prony +([a-z][^`\n#]*)")

// Every command line in the documentation is valid: the command and its flags exist.
func TestCommandLinesOfTheDocumentation(t *testing.T) {
	for _, page := range []string{"README.md", "harness/README.md", "scenarios/README.md", "baselines/README.md", "ci/README.md"} {
		text, err := os.ReadFile("../../../" + page)
		require.NoError(t, err)
		found := commandLines.FindAllStringSubmatch(string(text), -1)
		if page == "harness/README.md" {
			assert.GreaterOrEqual(t, len(found), 8, "the commands for a new user")
		}
		for _, line := range found {
			command, _, _ := strings.Cut(line[1], " | ")
			args := strings.Fields(command)
			root := newRoot([]string{"prony"})
			c, rest, err := root.Find(args)
			if !assert.NoError(t, err, "%s: prony %s", page, line[1]) {
				continue
			}
			assert.NotEqual(t, root, c, "%s: prony %s", page, line[1])
			assert.NoError(t, c.ParseFlags(given(rest)), "%s: prony %s", page, line[1])
		}
	}
}

// given removes shell quotes.
func given(args []string) []string {
	for i := range args {
		args[i] = strings.Trim(args[i], `'"[]`)
	}
	return args
}
