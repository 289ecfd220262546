package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
)

// The access token that a command sends depends on its flags, environment and files.
func TestWhichTokenIsSent(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	file := write("f/token", "from-file\n")
	other := write("f/other", "from-variable-file\n")
	write("data/admin.token", "from-data\n")
	write("elsewhere/admin.token", "from-elsewhere\n")
	const here, there = "127.0.0.1:7070", "192.0.2.1:7070"
	for name, c := range map[string]struct {
		token, file string
		env         []string
		address     string
		want        string
	}{
		"flag":                        {"from-flag", "", []string{"QUEUED_TOKEN=from-variable"}, here, "from-flag"},
		"file":                        {"", file, []string{"QUEUED_TOKEN=from-variable"}, here, "from-file"},
		"variable":                    {"", "", []string{"QUEUED_TOKEN=from-variable", "QUEUED_TOKEN_FILE=" + other}, here, "from-variable"},
		"variable's file":             {"", "", []string{"QUEUED_TOKEN_FILE=" + other}, here, "from-variable-file"},
		"empty variable":              {"", "", []string{"QUEUED_TOKEN="}, here, "from-data"},
		"server's own":                {"", "", nil, here, "from-data"},
		"server's own, by variable":   {"", "", []string{"QUEUED_DATA=elsewhere"}, here, "from-elsewhere"},
		"server's own, Unix socket":   {"", "", nil, "unix:/run/q", "from-data"},
		"server's own, localhost":     {"", "", nil, "localhost:1", "from-data"},
		"server's own, not elsewhere": {"", "", nil, there, ""},
		"none":                        {"", "", []string{"QUEUED_DATA=missing"}, here, ""},
		"variable, elsewhere":         {"", "", []string{"QUEUED_TOKEN=from-variable"}, there, "from-variable"},
	} {
		conn := &connection{app: &app{env: c.env}, token: c.token, tokenFile: c.file}
		secret, err := conn.secret(c.address)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, secret, name)
	}
	large := write("f/large", string(make([]byte, client.TokenBytesMax+1)))
	for name, conn := range map[string]*connection{
		"folder":   {app: &app{}, tokenFile: "f"},
		"large":    {app: &app{}, tokenFile: large},
		"variable": {app: &app{env: []string{"QUEUED_TOKEN=a\nb"}}},
		"empty":    {app: &app{}, tokenFile: write("f/empty", "\n")},
	} {
		_, err := conn.secret(here)
		assert.ErrorAs(t, err, new(usageError), name)
	}
}
