package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notRun are commands whose examples are only parsed: they serve, or they need a cluster.
var notRun = map[string]string{
	"queued serve":            "it serves until it is stopped",
	"queued cluster":          "its commands change clusters",
	"queued cluster add":      "it needs a cluster",
	"queued cluster remove":   "it needs a cluster",
	"queued cluster promote":  "it needs a cluster",
	"queued cluster demote":   "it needs a cluster",
	"queued cluster transfer": "it needs a cluster",
	"queued cluster snapshot": "it needs a cluster",
}

// exampleCommands returns this program's command lines in an example, without preceding variables,
// pipes and comments.
func exampleCommands(example string) (lines [][]string) {
	for line := range strings.Lines(example) {
		for part := range strings.SplitSeq(strings.Split(line, " # ")[0], "|") {
			args := words(part)
			for len(args) > 0 && args[0] != "queued" {
				args = args[1:] // skip a variable or another program before it
			}
			for i, arg := range args {
				if arg == "<" || arg == ">" {
					args = args[:i]
					break
				}
			}
			if len(args) > 0 {
				lines = append(lines, args[1:])
			}
		}
	}
	return lines
}

// Each example ends with 0 on a server that has the queue or task that it names.
func TestExamplesRun(t *testing.T) {
	config, err := filepath.Abs(filepath.Join(deploy, "queued.hcl"))
	require.NoError(t, err)
	_, backup := backedUp(t)
	s, n := serveInProcess(t)
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("picture.jpg", []byte("a picture"), 0o600))
	const id, token = "0000000000000000000000g1", "4096"
	ran := 0
	eachCommand(func(c *cobra.Command) {
		path := c.CommandPath()
		if notRun[path] != "" || c.HasSubCommands() {
			return
		}
		for _, args := range exampleCommands(c.Example) {
			line := strings.Join(args, " ")
			if args[0] == "serve" {
				continue
			}
			s.in, s.asks = "yes\n", c.Flags().Lookup("yes") != nil
			replace := map[string]string{
				"/etc/queued.hcl": config, "/mnt/backups/2030-01-31": backup,
				"/var/lib/queued-new": filepath.Join(dir, "new"), "/var/lib/queued": filepath.Join(dir, "data"),
				"127.0.0.1:7071": n.Admin(), id: "", token: "", "tok_1": "", "0000000000000000000000g2": "",
			}
			s.prepare(line, replace)
			for i, arg := range args {
				if to, known := replace[arg]; known {
					args[i] = to
				}
			}
			if args[0] == "doctor" { // the default ports may belong to another server on this host
				args = append(args, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0")
			}
			r := s.run(args...)
			assert.Equal(t, exitOK, r.code, "%s: %s%s", line, r.out, r.err)
			ran++
		}
	})
	assert.Greater(t, ran, 50)
}

// prepare creates what an example names: the queue, a task in the required state, or an access
// token.
func (s *shell) prepare(line string, names map[string]string) {
	s.Helper()
	const id, second, token = "0000000000000000000000g1", "0000000000000000000000g2", "4096"
	asked := *s
	asked.asks, asked.in = false, ""
	asked.ok("queues", "configure", "mail", "--max-attempts", "1")
	enqueue := func() string {
		return strings.TrimSpace(asked.ok("enqueue", "--queue", "mail", "x", "--result-retention", "1h"))
	}
	claim := func() (id, token string) {
		var c claimed
		enqueue()
		asked.json(&c, "claim", "--queue", "mail", "--lease", "1h")
		require.Len(s, c.Tasks, 1)
		return c.Tasks[0].ID, c.Tasks[0].Token
	}
	switch command := strings.Fields(line)[0]; {
	case command == "dead":
		task, token := claim()
		asked.ok("fail", task, token, "--error", "timeout")
		names[id] = task
	case command == "recurring" && !strings.HasPrefix(line, "recurring set"):
		asked.ok("recurring", "set", "reports", "digest", "--interval", "1h")
	case strings.Contains(line, "--batch "):
		names[id] = strings.TrimSpace(asked.ok("enqueue", "--queue", "mail", "x", "--batch-size", "2"))
	case command == "claim": // it would wait for a task
		enqueue()
	case command == "result":
		task, token := claim()
		asked.ok("complete", task, token)
		names[id] = task
	case strings.Contains(line, id+" "+token):
		names[id], names[token] = claim()
	case strings.Contains(line, id):
		names[id], names[second] = enqueue(), enqueue()
	case strings.HasPrefix(line, "queues delete") && !strings.Contains(line, "--force"):
		asked.ok("queues", "delete", "mail", "--force", "--yes")
		asked.ok("queues", "configure", "mail", "--lease", "1m")
	case strings.Contains(line, "tok_1"):
		var made struct{ Token struct{ ID string } }
		asked.json(&made, "tenants", "tokens", "create", "--tenant", "acme", "--scope", "work")
		names["tok_1"] = made.Token.ID
	}
}
