package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// outcomes are arguments of a command by exit code. " | " separates command lines with the same
// code. newBench replaces words in capitals.
type outcomes struct {
	// 0, 1 and 2; never if the command does not end with the code in this test.
	ok, refused, usage string
	local              bool // the command contacts no server, so that none can be unreachable
}

const never = "never"

// possible returns a command line that the program accepts.
func (o outcomes) possible() string {
	if o.ok == never {
		return o.refused
	}
	return o.ok
}

// exits has all commands of the program, by path. New commands must be added here.
var exits = map[string]outcomes{
	"queued":                       {"", never, "--nonsense", true},
	"queued serve":                 {never, "--data HELD --listen 127.0.0.1:0 --http= --admin=", "--shards 0", true},
	"queued config":                {"--help", never, "nonsense", true},
	"queued config check":          {"GOOD", never, "BAD", true},
	"queued config show":           {"--config GOOD", never, "--config BAD", true},
	"queued doctor":                {"--data NEW --listen 127.0.0.1:0 --http= --admin=", "--data BACKUP", "extra", true},
	"queued probe":                 {"--live", never, "extra", false},
	"queued restore":               {"--from BACKUP --data RESTORED", "--from BACKUP --data HELD", "--from BACKUP", true},
	"queued enqueue":               {"--queue q x", never, "--queue q x --delay soon | --queue q x --priority 10 | --queue a/b%c x | --queue q x --delay 367d | --queue q x --token WRONG | --queue q x --tenant b@d", false},
	"queued claim":                 {"--queue none", never, "--queue q=heavy | --queue none --lease 1000d | --queue none --max 1001", false},
	"queued complete":              {"ID TOKEN", never, "ID -1 | ID 1 | nope 1 | 0000000000000000000000g1 1", false},
	"queued fail":                  {"ID TOKEN", never, "ID | ID 1", false},
	"queued extend":                {"ID TOKEN --lease 1m", never, "ID TOKEN | ID 1 --lease 1m", false},
	"queued release":               {"ID TOKEN", never, "ID none | ID 1", false},
	"queued task":                  {"ID", never, "a b | 0000000000000000000000g1", false},
	"queued result":                {never, "ID", "ID --wait soon", false},
	"queued dependencies":          {"ID", never, " | 0000000000000000000000g1 | ID --page-token nonsense", false},
	"queued status":                {"", never, "extra", false},
	"queued backup":                {"named", never, "a b | b@d", false},
	"queued queues":                {"--help", never, "nonsense", true},
	"queued queues list":           {"", never, "--limit 0 | --page-token nonsense", false},
	"queued queues show":           {"q", never, " | none", false},
	"queued queues configure":      {"q --lease 1m", never, "q | q --lease 1000d", false},
	"queued queues pause":          {"q", never, " | none", false},
	"queued queues resume":         {"q", never, " | none", false},
	"queued queues purge":          {"q --yes", never, "q | none --yes", false},
	"queued queues delete":         {"once --force --yes", "q --yes", "q", false},
	"queued recurring":             {"--help", never, "nonsense", true},
	"queued recurring set":         {"s other --interval 1h", never, "s r | s r --cron nonsense | s --interval 1h | s r --cron @daily --time-zone Mars", false},
	"queued recurring list":        {"", never, "--limit 0 | --page-token nonsense", false},
	"queued recurring show":        {"s r", never, "s | s none", false},
	"queued recurring pause":       {"s r", never, "s | s none", false},
	"queued recurring resume":      {"s r", never, "s | s none", false},
	"queued recurring run":         {"s r", never, "s | s none", false},
	"queued recurring delete":      {"s once", never, "s | s none", false},
	"queued tasks":                 {"--help", never, "nonsense", true},
	"queued tasks list":            {"--queue q --state ready", never, "--queue q --state raedy | --queue q --state ready --page-token nonsense", false},
	"queued tasks attempts":        {"ID", never, " | 0000000000000000000000g1", false},
	"queued tasks failures":        {"", never, "extra | --limit 2000", false},
	"queued tasks history":         {"--queue q", never, " | --queue q --finish lost | --queue q --page-token nonsense", false},
	"queued tasks cancel":          {"ID --yes", never, "ID | 0000000000000000000000g1 --yes", false},
	"queued tasks reschedule":      {"WAITING --now", never, "WAITING | WAITING --now --in 1s | WAITING --in 1000d | ID --now", false},
	"queued tasks prioritize":      {"WAITING --priority 3", never, "WAITING | WAITING --priority 10 | ID --priority 3", false},
	"queued dead":                  {"--help", never, "nonsense", true},
	"queued dead list":             {"--queue q", never, "--queue q --reason age | --queue q --page-token nonsense", false},
	"queued dead edit":             {"DEAD corrected", never, "DEAD | ID corrected | DEAD --file GONE | DEAD --header kind=a --remove-headers", false},
	"queued dead redrive":          {"--queue q --all", never, "--queue q | ID", false},
	"queued dead purge":            {"--queue q --all --yes", never, "--queue q --all | ID --yes", false},
	"queued version":               {"", never, "extra", true},
	"queued tenants":               {"--help", never, "nonsense", true},
	"queued tenants list":          {"", never, "extra", false},
	"queued tenants configure":     {"acme --tasks-max 5", never, "acme | b@d --tasks-max 5", false},
	"queued tenants tokens":        {"--help", never, "nonsense", true},
	"queued tenants tokens create": {"--tenant acme --scope work", never, "--tenant acme --scope none | --tenant b@d --scope work", false},
	"queued tenants tokens list":   {"", never, "extra", false},
	"queued tenants tokens rotate": {"TOKENID", never, "TOKENID --grace soon | none", false},
	"queued tenants tokens revoke": {"TOKENID --yes", never, "TOKENID | none --yes", false},
	"queued cluster":               {"--help", never, "nonsense", true},
	"queued cluster init":          {"--nodes n1=127.0.0.1:7073 --out CERTS", "--nodes n1=127.0.0.1:7073 --out GOOD/below", "--nodes n1 --out CERTS", true},
	"queued cluster status":        {"--wait 1s", never, "extra", false},
	"queued cluster add":           {never, "n2 127.0.0.1:7073", "n2", false},
	"queued cluster remove":        {never, "n2 --yes", "n2", false},
	"queued cluster promote":       {never, "n2", "", false},
	"queued cluster demote":        {never, "n2", "", false},
	"queued cluster transfer":      {never, "--to n2", "extra", false},
	"queued cluster snapshot":      {never, "", "extra", false},
}

// bench is the environment of the command lines in exits.
type bench struct {
	*shell

	words map[string]string
}

// newBench starts a server with a leased task, a backup, and files.
func newBench(t *testing.T) *bench {
	t.Helper()
	_, backup := backedUp(t)
	s, _ := serveInProcess(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	held := ""
	for _, v := range s.env {
		held, _ = strings.CutPrefix(v, "QUEUED_DATA=")
	}
	return &bench{s, map[string]string{
		"GOOD": write("good.hcl", "shards = 2\n"), "BAD": write("bad.hcl", "shrads = 2\n"), "HELD": held, "BACKUP": backup,
		"NEW": filepath.Join(dir, "new"), "RESTORED": filepath.Join(dir, "restored"), "CERTS": filepath.Join(dir, "certs"),
	}}
}

// args returns the arguments of a command line, with a new leased task and a new access token if it
// names them.
func (b *bench) args(path, line string) []string {
	b.Helper()
	words := map[string]string{}
	for k, v := range b.words {
		words[k] = v
	}
	if strings.Contains(line, "ID") {
		b.ok("enqueue", "--queue", "q", "payload")
		var c claimed
		b.json(&c, "claim", "--queue", "q", "--lease", "1h")
		require.Len(b, c.Tasks, 1)
		words["ID"], words["TOKEN"] = c.Tasks[0].ID, c.Tasks[0].Token
	}
	if strings.Contains(line, "DEAD") {
		b.ok("enqueue", "--queue", "failing", "payload")
		var c claimed
		b.json(&c, "claim", "--queue", "failing")
		b.ok("fail", c.Tasks[0].ID, c.Tasks[0].Token, "--permanent")
		words["DEAD"] = c.Tasks[0].ID
	}
	if strings.Contains(line, "WAITING") {
		var made struct{ ID string }
		b.json(&made, "enqueue", "--queue", "q", "--delay", "1h", "payload")
		words["WAITING"] = made.ID
	}
	if strings.Contains(line, "TOKENID") {
		var made struct{ Token struct{ ID string } }
		b.json(&made, "tenants", "tokens", "create", "--tenant", "acme", "--scope", "work")
		words["TOKENID"] = made.Token.ID
	}
	args := strings.Fields(path)[1:]
	for _, word := range strings.Fields(line) {
		if before, after, below := strings.Cut(word, "/"); below && words[before] != "" {
			word = words[before] + "/" + after
		}
		args = append(args, or(words[word], word))
	}
	return args
}

// Every command ends with the documented exit codes.
func TestEveryCommandEndsWithTheDocumentedCodes(t *testing.T) {
	b := newBench(t)
	away := newShell(t, "QUEUED_SERVER=127.0.0.1:1", "QUEUED_ADMIN_SERVER=127.0.0.1:1", "QUEUED_DATA="+t.TempDir())
	b.ok("enqueue", "--queue", "q", "x")
	b.ok("enqueue", "--queue", "once", "x")
	b.ok("recurring", "set", "s", "r", "--interval", "1h")
	b.ok("recurring", "set", "s", "once", "--interval", "1h")
	seen := map[string]bool{}
	eachCommand(func(c *cobra.Command) {
		path := c.CommandPath()
		o, known := exits[path]
		seen[path] = true
		if !assert.True(t, known, "%s is new: add it to exits, with a command line for each code", path) {
			return
		}
		try := func(s *shell, want int, line string) {
			if line == never {
				return
			}
			for line := range strings.SplitSeq(line, " | ") {
				r := s.run(b.args(path, line)...)
				assert.Equal(t, want, r.code, "%s %s: %s%s", path, line, r.out, r.err)
				assert.NotContains(t, r.err, "rpc error", "%s %s", path, line)
			}
		}
		try(b.shell, exitUsage, o.usage)
		try(b.shell, exitFailed, o.refused)
		try(b.shell, exitOK, o.ok)
		if !o.local {
			try(away, exitUnreachable, o.possible())
		}
	})
	for path := range exits {
		assert.True(t, seen[path], "%s is no longer a command", path)
	}
}

// silent accepts connections and never answers. accepted receives an element for each connection.
func silent(t *testing.T) (address string, accepted <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	notes := make(chan struct{}, 100)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				notes <- struct{}{}
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String(), notes
}

// Every command that waits for a server ends immediately when it is interrupted, with one line.
func TestEveryCommandIsInterrupted(t *testing.T) {
	b := newBench(t)
	address, accepted := silent(t)
	eachCommand(func(c *cobra.Command) {
		o, known := exits[c.CommandPath()]
		if !known || o.local {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := newShell(t, "QUEUED_SERVER="+address, "QUEUED_ADMIN_SERVER="+address, "QUEUED_DATA="+t.TempDir())
		s.ctx = ctx
		args := b.args(c.CommandPath(), o.possible())
		done := make(chan ran, 1)
		go func() { done <- s.run(args...) }()
		select {
		case <-accepted:
		case <-time.After(patience):
			assert.Fail(t, "the command does not connect", "%v", args)
		}
		cancel()
		r := <-done
		assert.Equal(t, exitInterrupted, r.code, "%v: %s%s", args, r.out, r.err)
		assert.Equal(t, "interrupted\n", r.err, "%v", args)
		assert.Empty(t, r.out, "%v", args)
		for len(accepted) > 0 {
			<-accepted
		}
	})
}

// Waits for a person or for input can be interrupted too. The server's address accepts connections
// and never answers: on a refused connection, enqueue --lines could end before the interrupt.
func TestWaitsForInputAreInterrupted(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, silent.Close()) }()
	for _, args := range [][]string{
		{"queues", "purge", "q"},
		{"enqueue", "--queue", "q"},
		{"enqueue", "--queue", "q", "--lines"},
	} {
		in, typed := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var out, log syncBuffer
		a := &app{in: in, out: &out, err: &log, env: []string{"QUEUED_SERVER=" + silent.Addr().String()}, asks: args[0] == "queues"}
		done := make(chan int, 1)
		go func() { done <- a.execute(ctx, args) }()
		_, err := typed.Write([]byte("x")) // returns once the command reads
		require.NoError(t, err)
		cancel()
		assert.Equal(t, exitInterrupted, <-done, "%v: %s", args, log.String())
		assert.True(t, strings.HasSuffix(log.String(), "interrupted\n"), log.String())
		assert.Empty(t, out.String())
		require.NoError(t, typed.Close())
	}
}

// The README and the systemd unit have the program's exit codes. make golden writes the README.
func TestExitCodesAreDocumented(t *testing.T) {
	const path, begin, end = "../../README.md", "<!-- exit codes: written by make golden -->\n\n", "\n<!-- end of exit codes -->"
	var table strings.Builder
	table.WriteString("| exit code | meaning |\n| --- | --- |\n")
	unit := deployed(t, "queued.service")
	help := newShell(t).ok("--help")
	for _, e := range exitCodes {
		fmt.Fprintf(&table, "| %d | %s |\n", e.code, e.meaning)
		assert.Contains(t, unit, fmt.Sprintf("\n# %4d  %s\n", e.code, e.meaning))
		assert.Contains(t, help, fmt.Sprintf("\n  %3d  %s\n", e.code, e.meaning))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	was, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if golden.Writing(t) {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o644))
		return
	}
	assert.Equal(t, table.String(), was, "run make golden")
}
