package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's commands store a batch and a task that waits for it, and the Go program there is the
// one of the package's documentation.
func TestTheReadmesBatchIsStored(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n### Dependencies and batches\n")
	require.True(t, found)
	_, block, found := strings.Cut(section, "\n```sh\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "\n```\n")
	p := start(t, "--data", t.TempDir(), "--durability", "none", "--auth", "off")
	c := exec.CommandContext(t.Context(), "bash", "-euc", `queued() { "$BINARY" "$@"; }`+"\n"+block)
	c.Env = append(os.Environ(), "BINARY="+binary, "QUEUED_SERVER="+p.Listen[0])
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "the task still waits for 2 tasks\n")
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0], "QUEUED_ADMIN_SERVER="+p.Admin)
	for _, queue := range []string{"images", "images", "albums", "mail"} {
		var got claimed
		s.json(&got, "claim", "--queue", queue, "--wait", "60s")
		require.Len(t, got.Tasks, 1)
		s.ok("complete", got.Tasks[0].ID, got.Tasks[0].Token)
	}

	_, program, found := strings.Cut(section, "\n```go\n")
	require.True(t, found)
	doc, err := os.ReadFile("../../client/jobs/doc.go")
	require.NoError(t, err)
	for i, line := range strings.Split(program, "\n")[:4] {
		line, _, _ = strings.Cut(line, " // ")
		assert.Contains(t, string(doc), "\n//\t"+line+"\n", "line %d", i)
	}
}
