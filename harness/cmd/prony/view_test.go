package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// viewing runs `prony view` with arguments until look returns. look gets the address. It returns
// the output.
func viewing(t *testing.T, look func(url string), args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := make(chan struct{})
	out := &untilSaid{want: "http://", said: sync.OnceFunc(func() { close(said) })}
	var log bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, append([]string{"prony", "view"}, args...), out, &log) }()
	select {
	case <-said:
	case code := <-ended:
		require.Fail(t, "it ended", "%d: %s", code, log.String())
	}
	line := out.text.String()
	url := line[strings.Index(line, "http://"):]
	look(url[:strings.LastIndex(url, "/")+1])
	cancel()
	select {
	case code := <-ended:
		assert.Equal(t, 0, code, "an interruption is the normal end")
	case <-time.After(time.Minute):
		require.Fail(t, "view does not end")
	}
	return line, log.String()
}

func fetched(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(url)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, errors.Join(err, answer.Body.Close()))
	assert.Equal(t, 200, answer.StatusCode)
	return string(text)
}

// The pages of published data are rendered when they are viewed: the repository does not store
// them.
func TestViewRendersPublishedData(t *testing.T) {
	inFolder(t)
	write(t, "reports/a.md", "# Page A\n\n[tiny](data/tiny)\n")
	require.Equal(t, 0, prony(t, "report", "--publish", "reports", stored(t, "runs", "one", nil)).code)
	write(t, "reports/data/n1/LOCK", "") // as a server's data in the folder of a run that is being measured
	require.NoError(t, os.RemoveAll("reports/scenarios"))
	viewing(t, func(url string) {
		text := fetched(t, url)
		assert.Contains(t, text, "Page A</h1>")
		assert.Contains(t, text, `<a href="#page/scenarios/tiny">tiny</a>`)
	})
	require.NoError(t, os.RemoveAll("reports/scenarios"))
	require.Equal(t, 0, prony(t, "report", "--html", "all.html").code)
	html, err := os.ReadFile("all.html")
	require.NoError(t, err)
	assert.Contains(t, string(html), `<article id="page/scenarios/tiny"`)
}

func TestView(t *testing.T) {
	inFolder(t)
	write(t, "reports/a.md", "# Page A\n")
	run := stored(t, "runs", "one", nil)
	require.Equal(t, 0, prony(t, "report", run).code)

	stdout, _ := viewing(t, func(url string) {
		assert.True(t, strings.HasPrefix(url, "http://127.0.0.1:"), url)
		fetched(t, url)
	})
	assert.Regexp(t, `^reports: http://127\.0\.0\.1:\d+/ \(interrupt to end\)\n$`, stdout)

	viewing(t, func(url string) { assert.Contains(t, fetched(t, url), "<title>Tiny</title>") }, run)

	require.Equal(t, 0, prony(t, "report", "--html", "all.html").code)
	stdout, _ = viewing(t, func(url string) {
		text, err := os.ReadFile("all.html")
		require.NoError(t, err)
		assert.Equal(t, string(text), fetched(t, url))
	}, "--json", "all.html")
	var printed viewed
	require.NoError(t, json.Unmarshal([]byte(stdout), &printed))
	assert.Equal(t, "all.html", printed.File)
}

func TestViewListensWhereItIsTold(t *testing.T) {
	inFolder(t)
	write(t, "reports/a.md", "# Page A\n")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, free.Close()) })
	port := fmt.Sprint(free.Addr().(*net.TCPAddr).Port)
	s := sheet(t)
	s.Replace(port, "PORT")
	got := prony(t, "view", "--listen", port)
	refused(t, s, "the port is taken", got)
	assert.Empty(t, got.stdout)
}

func TestViewOpensABrowser(t *testing.T) {
	s := sheet(t)
	dir := inFolder(t)
	write(t, "reports/a.md", "# Page A\n")
	write(t, "bin/xdg-open", "#!/bin/sh\necho \"$1\" > opening; mv opening opened\n")
	require.NoError(t, os.Chmod("bin/xdg-open", 0o700))
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+"/usr/bin:/bin")
	_, stderr := viewing(t, func(url string) {
		require.Eventually(t, func() bool { _, err := os.Stat("opened"); return err == nil }, time.Minute, time.Millisecond)
		opened, err := os.ReadFile("opened")
		require.NoError(t, err)
		assert.Equal(t, url+"\n", string(opened))
	}, "--open")
	assert.NotContains(t, stderr, "browser")

	t.Setenv("PATH", "")
	_, stderr = viewing(t, func(string) {}, "--open")
	s.Equal(t, "no browser", stderr)
}
