package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheReadmesQuickStartRuns builds the README's Go program and runs it next to a server's data
// folder, with the token file that the server writes.
func TestTheReadmesQuickStartRuns(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Quick start\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, program, found := strings.Cut(section, "\n```go\n")
	require.True(t, found)
	program, _, found = strings.Cut(program, "\n```\n")
	require.True(t, found)
	// The program has the defaults of 'queued serve'. Only the port differs here.
	const address, tokenFile = `"127.0.0.1:7070"`, `"data/admin.token"`
	require.Equal(t, 1, strings.Count(program, address))
	require.Equal(t, 1, strings.Count(program, tokenFile))
	dir := t.TempDir()
	p := start(t, "--data", filepath.Join(dir, "data"), "--durability", "none")
	require.Equal(t, filepath.Join(dir, "data", "admin.token"), p.TokenFile)

	source, built := filepath.Join(t.TempDir(), "main.go"), filepath.Join(dir, "quickstart")
	require.NoError(t, os.WriteFile(source, []byte(strings.Replace(program, address, `"`+p.Listen[0]+`"`, 1)), 0o600))
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", built, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, built)
	c.Dir = dir
	out, err = c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	id, _, _ := strings.Cut(strings.TrimPrefix(string(out), "enqueued "), "\n")
	require.Len(t, id, 24, "%s", out)
	assert.Equal(t, "enqueued "+id+"\nreceived "+id+": hello\ncompleted "+id+"\n", string(out))

	// A separate module needs these lines.
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	path := regexp.MustCompile(`(?m)^module (.*)$`).FindSubmatch(mod)
	goes := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.Len(t, path, 2)
	require.Len(t, goes, 2)
	assert.Contains(t, section, "With the Go client, `"+string(path[1])+"/client`:")
	assert.Contains(t, section, "needs Go "+string(goes[1])+" or later")
	assert.Contains(t, section, "\ngo get "+string(path[1])+"/client@latest\n")
}
