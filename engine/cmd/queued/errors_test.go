package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// mistakes are invalid command lines, or ones that no server answers.
var mistakes = [][]string{
	{"nonsense"},
	{"sevre"},
	{"queues", "lits"},
	{"queues", "nonsense"},
	{"--nonsense"},
	{"status", "--output", "yaml"},
	{"status", "extra"},
	{"serve", "extra"},
	{"serve", "--nonsense"},
	{"serve", "--durability", "maybe", "--shards", "0", "--queue-lease", "10", "--log-level", "loud"},
	{"serve", "--listen", "0.0.0.0:7070"},
	{"serve", "--listen", ":7070"},
	{"serve", "--config", "missing.hcl"},
	{"serve", "--config", "wrong.hcl"},
	{"config", "check"},
	{"config", "check", "missing.hcl"},
	{"config", "check", "wrong.hcl"},
	{"config", "show", "--config", "wrong.hcl"},
	{"enqueue", "hello"},
	{"enqueue", "--queue", "q", "two", "words"},
	{"enqueue", "--queue", "q", "hello", "--file", "wrong.hcl"},
	{"enqueue", "--queue", "q", "--file", "missing"},
	{"enqueue", "--queue", "q", "--lines", "hello"},
	{"enqueue", "--queue", "q", "hello", "--delay", "10"},
	{"enqueue", "--queue", "q", "hello", "--delay", "1s", "--not-before", "2030-01-31T09:00:00Z"},
	{"enqueue", "--queue", "q", "hello", "--not-before", "tomorrow"},
	{"enqueue", "--queue", "q", "hello", "--priority", "high"},
	{"enqueue", "--queue", "q", "hello", "--header", "kind"},
	{"enqueue", "--queue", "q", "hello", "--header", "kind=a", "--header", "kind=b"},
	{"tasks", "list", "--queue", "q", "--state", "ready", "--header", "trace"},
	{"claim"},
	{"claim", "--queue", "q", "--max", "0"},
	{"claim", "--queue", "q=heavy"},
	{"complete"},
	{"complete", "id"},
	{"complete", "id", "token"},
	{"complete", "a", "1", "b", "2", "--result", "x"},
	{"complete", "a", "1", "--result-file", "missing"},
	{"extend", "a", "1"},
	{"task"},
	{"task", "a", "b"},
	{"queues", "configure", "q"},
	{"queues", "configure", "q", "--placement", "oredred"},
	{"queues", "configure", "q", "--backoff-multiplier", "much"},
	{"queues", "purge", "q"},
	{"queues", "list", "--limit", "0"},
	{"tasks", "list", "--queue", "q"},
	{"tasks", "list", "--queue", "q", "--state", "raedy"},
	{"tasks", "cancel"},
	{"tasks", "cancel", "a"},
	{"dead", "redrive"},
	{"dead", "redrive", "--queue", "q"},
	{"dead", "redrive", "--queue", "q", "--all", "--reason", "expired"},
	{"dead", "redrive", "a", "--queue", "q"},
	{"dead", "purge", "--queue", "q", "--all"},
	{"dead", "purge", "a", "b"},
	{"tenants", "configure", "acme"},
	{"tenants", "configure", "acme", "--bytes-max", "1GB"},
	{"tenants", "tokens", "create", "--tenant", "acme"},
	{"tenants", "tokens", "create", "--tenant", "acme", "--scope", "prodcue"},
	{"tenants", "tokens", "revoke", "t"},
	{"cluster", "sttus"},
	{"cluster", "add", "n4"},
	{"cluster", "remove", "n4"},
	{"cluster", "promote"},
	{"cluster", "transfer", "n2"},
	{"cluster", "transfer", "--shard", "all"},
	{"serve", "--cluster-node", "N1", "--cluster-peers", "n1=127.0.0.1:7073"},
	{"serve", "--cluster-peers", "n1"},
	{"cluster", "init", "--nodes", "n1=127.0.0.1:7073"},
	{"cluster", "init", "--nodes", "n1", "--out", "certs"},
	{"cluster", "init", "--nodes", "n1=127.0.0.1:7073,n1=127.0.0.1:8073", "--out", "certs"},
	{"cluster", "init", "--nodes", "n1=10.0.0.1:7073,n2=10.0.0.1:7073", "--out", "certs"},
	{"cluster", "init", "--nodes", "N1=127.0.0.1", "--out", "certs"},
	{"status", "--token", "a", "--token-file", "b"},
	{"status", "--token", "two words"},
	{"status", "--token-file", "missing"},
	{"status", "--tls-ca", "missing"},
	{"status", "--tls-ca", "wrong.hcl"},
	{"status", "--tls-cert", "missing"},
	{"status", "--tls-cert", "missing", "--tls-key", "missing"},
	{"status", "--admin-server", "nowhere"},
	{"status", "--admin-server", "127.0.0.1:1,nowhere"},
	{"status", "--admin-server", "127.0.0.1:1,127.0.0.1:2"},
	{"enqueue", "--queue", "q", "hello", "--server", "127.0.0.1:1", "--server", "127.0.0.1:2"},
	{"probe", "--admin-server", "127.0.0.1:1,127.0.0.1:2"},
	{"status", "--token-file", "n?/admin.token"},
	{"status", "--admin-server", "example.com:7071", "--token", "secret"},
	{"status"},
	{"probe"},
	{"enqueue", "--queue", "q", "hello"},
	{"restore"},
	{"restore", "--from", "missing", "--data", "new"},
	{"restore", "--from", "", "--data", "new"},
}

// The golden file has the exact answer to each mistake, as text and as JSON. Nothing but results
// goes to standard output.
func TestMistakesAreAnsweredAsWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	wrong := "lisen = [\"127.0.0.1:7070\"]\nshards = 99\n\nqueue {\n  lease = 30\n}\n"
	require.NoError(t, os.WriteFile("wrong.hcl", []byte(wrong), 0o600))
	var b strings.Builder
	for _, args := range mistakes {
		// Reserved ports without a server.
		s := newShell(t, "QUEUED_SERVER=127.0.0.1:1", "QUEUED_ADMIN_SERVER=127.0.0.1:1")
		fmt.Fprintf(&b, "$ queued %s\n", strings.Join(args, " "))
		text := s.run(args...)
		assert.NotEqual(t, exitOK, text.code)
		for line := range strings.Lines(text.out) {
			b.WriteString("out: " + line)
		}
		for line := range strings.Lines(text.err) {
			b.WriteString("err: " + line)
		}
		fmt.Fprintf(&b, "exit %d\n", text.code)
		if args[len(args)-1] != "yaml" {
			asJSON := s.run(append([]string{"--output", "json"}, args...)...)
			assert.Equal(t, text.code, asJSON.code)
			f := asJSON.failure()
			fmt.Fprintf(&b, "code %s\n", f.Code)
			assert.Contains(t, text.err, strings.Split(f.Message, "\n")[0])
		}
		b.WriteString("\n")
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, entries, 1, "none of these created a file")
	t.Chdir(home)
	golden.Text(t, "testdata/mistakes.golden", b.String())
}

var home = func() string {
	dir, err := filepath.Abs(".")
	if err != nil {
		panic(err)
	}
	return dir
}()

func TestJSONErrorsHaveOneShape(t *testing.T) {
	s := newShell(t, "QUEUED_SERVER=127.0.0.1:1")
	for name, c := range map[string]struct {
		args []string
		want failure
	}{
		"usage, before the flag is known": {[]string{"task", "--output=json"}, failure{Code: "usage", Message: "'queued task' takes one argument, ID: got 0"}},
		"usage, short":                    {[]string{"-o", "json", "task", "--nonsense"}, failure{Code: "usage", Message: "unknown flag: --nonsense: 'queued task --help' lists all flags"}},
		"usage, joined":                   {[]string{"-ojson", "nonsense"}, failure{Code: "usage", Message: `unknown command "queued nonsense": 'queued --help' lists all commands`}},
	} {
		r := s.run(c.args...)
		assert.Empty(t, r.out, name)
		assert.Equal(t, c.want, r.failure(), name)
	}
	r := s.run("-o", "json", "task", "x")
	assert.Equal(t, exitUnreachable, r.code)
	assert.Equal(t, "unreachable", r.failure().Code)
	r = s.run("-o", "json", "serve", "--shards", "0", "--auth", "no")
	assert.Equal(t, exitUsage, r.code)
	assert.Equal(t, "configuration", r.failure().Code)
	assert.Len(t, r.failure().Problems, 2)
}
