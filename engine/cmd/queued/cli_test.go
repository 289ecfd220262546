package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// shell runs command lines in this process.
type shell struct {
	*testing.T

	ctx   context.Context
	env   []string
	in    string
	asks  bool
	shows bool // progress on standard error
	clock clock
}

// ran is the result of a command line.
type ran struct {
	*testing.T

	code     int
	out, err string
}

func newShell(t *testing.T, env ...string) *shell { return &shell{T: t, ctx: t.Context(), env: env} }

func (s *shell) run(args ...string) ran {
	s.Helper()
	var out, err bytes.Buffer
	a := &app{in: strings.NewReader(s.in), out: &out, err: &err, env: s.env, asks: s.asks, progress: s.shows, clock: s.clock}
	code := a.execute(s.ctx, args)
	return ran{s.T, code, out.String(), err.String()}
}

// runAll runs commands concurrently; most of them wait.
func (s *shell) runAll(commands [][]string) []ran {
	s.Helper()
	out := make([]ran, len(commands))
	var running sync.WaitGroup
	for i, args := range commands {
		running.Go(func() { out[i] = s.run(args...) })
	}
	running.Wait()
	return out
}

// passing returns a clock that advances with each pause and never blocks.
func passing() clock {
	now := time.UnixMilli(someTime)
	return clock{now: func() time.Time { return now }, pause: func(ctx context.Context, d time.Duration) error {
		now = now.Add(d)
		return ctx.Err()
	}}
}

// ok runs a command that must succeed with nothing on standard error, and returns its output.
func (s *shell) ok(args ...string) string {
	s.Helper()
	r := s.run(args...)
	require.Equal(s, exitOK, r.code, "%v: %s%s", args, r.out, r.err)
	assert.Empty(s, r.err, "%v", args)
	return r.out
}

// json runs a command that must succeed, with JSON output, and decodes the output into v.
func (s *shell) json(v any, args ...string) {
	s.Helper()
	decodeJSON(s.T, s.ok(append(args, "--output", "json")...), v)
}

func decodeJSON(t *testing.T, text string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	require.NoError(t, d.Decode(v), text)
	assert.False(t, d.More(), "one document: %s", text)
}

// assertRow asserts that a table has a line with these cells.
func assertRow(t *testing.T, table string, cells ...string) {
	t.Helper()
	for i, c := range cells {
		cells[i] = regexp.QuoteMeta(c)
	}
	assert.Regexp(t, "(?m)^"+strings.Join(cells, " {2,}")+"$", table)
}

// fails asserts that a command failed with code, and that its error has all parts.
func (r ran) fails(code int, parts ...string) {
	r.Helper()
	assert.Equal(r, code, r.code, "%s%s", r.out, r.err)
	for _, part := range parts {
		assert.Contains(r, r.err, part)
	}
	assert.NotContains(r, r.err, "panic")
	assert.NotContains(r, r.err, "rpc error")
}

// failure returns the error that a command reported as JSON.
func (r ran) failure() (f failure) {
	r.Helper()
	var document struct{ Error *failure }
	document.Error = &f
	decodeJSON(r.T, r.err, &document)
	return f
}

// serveInProcess starts a server in this process and returns a shell whose commands reach it.
func serveInProcess(t *testing.T) (*shell, *node.Node) {
	t.Helper()
	data := t.TempDir()
	n, err := node.Open(node.Config{DataDir: data, Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, Auth: true, DiskLow: storage.SpaceMark{Set: true}})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, n.Shutdown(ctx))
	})
	return newShell(t, "QUEUED_SERVER="+n.Addresses()[0], "QUEUED_ADMIN_SERVER="+n.Admin(), "QUEUED_DATA="+data), n
}
