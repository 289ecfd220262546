package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// examined is what doctor prints as JSON.
type examined struct {
	OK       bool
	Findings []struct{ Check, Level, Message, Remedy string }
}

func (e examined) find(check string) (levels, messages []string) {
	for _, f := range e.Findings {
		if f.Check == check {
			levels = append(levels, f.Level)
			messages = append(messages, f.Message)
		}
	}
	return levels, messages
}

func TestDoctorOfADataFolder(t *testing.T) {
	data, _ := backedUp(t)
	s := newShell(t)
	flags := []string{"doctor", "--data", data, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"}
	var e examined
	s.json(&e, flags...)
	assert.True(t, e.OK)
	levels, messages := e.find("stores")
	assert.Equal(t, []string{"ok"}, levels)
	assert.Equal(t, []string{"1 read to the end: checksums hold and counters agree; 2 tasks"}, messages)
	table := s.ok(flags...)
	assert.Regexp(t, `(?m)^ok +listen +127\.0\.0\.1:0 is free$`, table)
	assert.Regexp(t, `(?m)^ok +fsync +median `, table)

	token := filepath.Join(data, "admin.token")
	require.NoError(t, os.WriteFile(token, []byte("x\n"), 0o644))
	require.NoError(t, os.Chmod(token, 0o644))
	r := s.run(append(flags, "-o", "json")...)
	r.fails(exitFailed)
	assert.Equal(t, "1 problem found", r.failure().Message)
	decodeJSON(t, r.out, &e)
	assert.False(t, e.OK)
	s.run(flags...).fails(exitFailed, "queued: 1 problem found")
}

// Beside a server that runs, the addresses are the server's and the stores are left alone.
func TestDoctorBesideAServer(t *testing.T) {
	data := t.TempDir()
	p := start(t, "--data", data)
	s := newShell(t)
	s.run("enqueue", "--queue", "q", "x", "--server", p.Listen[0])
	r := s.run("doctor", "--data", data, "--listen", p.Listen[0], "--http", "", "--admin", p.Admin, "-o", "json")
	var e examined
	decodeJSON(t, r.out, &e)
	for _, check := range []string{"listen", "admin"} {
		_, messages := e.find(check)
		require.Len(t, messages, 1, check)
		assert.Contains(t, messages[0], "is answered by a queued")
	}
	_, messages := e.find("stores")
	assert.Equal(t, []string{"held by a server that runs, so not read; ask that one with /audit"}, messages)
}

func TestDoctorSaysWhatIsWrongWithTheConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("q.hcl", []byte("shrads = 1\n"), 0o600))
	s := newShell(t, "QUEUED_CONFIG=q.hcl")
	r := s.run("doctor", "--durability", "maybe", "-o", "json")
	r.fails(exitFailed)
	var e examined
	decodeJSON(t, r.out, &e)
	levels, messages := e.find("configuration")
	assert.Equal(t, []string{"problem", "problem"}, levels)
	assert.Contains(t, messages[0], "q.hcl:1:1: unknown attribute shrads")
	assert.Contains(t, messages[1], "--durability: ")
	assert.NoDirExists(t, "data")
}
