package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
)

// readmeProgram returns a section of the README and the Go program in it.
func readmeProgram(t *testing.T, title string) (section, program string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, program, found = strings.Cut(section, "\n```go\n")
	require.True(t, found)
	program, _, found = strings.Cut(program, "\n```\n")
	require.True(t, found)
	return section, program
}

// buildBesideServer starts a server and builds a program in the folder of its data folder. The
// program has the defaults of 'queued serve'. Only the port differs here.
func buildBesideServer(t *testing.T, program string) (p *process, built string) {
	t.Helper()
	const address, tokenFile = `"127.0.0.1:7070"`, `"data/admin.token"`
	require.Equal(t, 1, strings.Count(program, address))
	require.Equal(t, 1, strings.Count(program, tokenFile))
	dir := t.TempDir()
	p = start(t, "--data", filepath.Join(dir, "data"), "--durability", "none")
	require.Equal(t, filepath.Join(dir, "data", "admin.token"), p.TokenFile)
	source, built := filepath.Join(t.TempDir(), "main.go"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(source, []byte(strings.Replace(program, address, `"`+p.Listen[0]+`"`, 1)), 0o600))
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", built, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return p, built
}

// TestTheReadmesQuickStartRuns builds the README's Go program and runs it next to a server's data
// folder, with the token file that the server writes.
func TestTheReadmesQuickStartRuns(t *testing.T) {
	section, program := readmeProgram(t, "Quick start")
	_, built := buildBesideServer(t, program)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, built)
	c.Dir = filepath.Dir(built)
	out, err := c.CombinedOutput()
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

// TestTheReadmesWebhookServiceRuns builds the README's service, which delivers a webhook and ends
// with a signal.
func TestTheReadmesWebhookServiceRuns(t *testing.T) {
	section, program := readmeProgram(t, "Jobs in Go")
	_, service, found := strings.Cut(program, "\n)\n")
	require.True(t, found)
	lines := slices.DeleteFunc(strings.Split(service, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	assert.LessOrEqual(t, len(lines), 30, "after the imports, without empty lines")
	assert.Contains(t, section, `Deliver.Enqueue(ctx, producer, Webhook{URL: url, Body: body}, jobs.In("webhooks"), jobs.MaxAttempts(8))`)
	p, built := buildBesideServer(t, program)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, built)
	c.Dir = filepath.Dir(built)
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())

	delivered := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		delivered <- string(body)
	}))
	defer hook.Close()
	dialled, err := client.Dial(p.Listen[0], client.WithTokenFile(p.TokenFile))
	require.NoError(t, err)
	producer, err := dialled.Producer(ctx, "")
	require.NoError(t, err)
	type webhook struct{ URL, Body string }
	_, err = jobs.Kind[webhook]("webhook.deliver").Enqueue(ctx, producer, webhook{hook.URL, "hello"}, jobs.In("webhooks"), jobs.MaxAttempts(8))
	require.NoError(t, err)
	select {
	case body := <-delivered:
		assert.Equal(t, "hello", body)
	case <-ctx.Done():
		require.Fail(t, "no delivery")
	}
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.NoError(t, c.Wait())
	require.NoError(t, producer.Close(ctx))
	require.NoError(t, dialled.Close())
}
