package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cmd/queued/doctor"
)

// examined is the JSON output of doctor.
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
	assert.Equal(t, []string{"fit"}, levels)
	assert.Equal(t, []string{"1 read to the end: checksums hold and counters agree; 2 tasks"}, messages)
	table := s.ok(flags...)
	assert.Regexp(t, `(?m)^fit +listen +127\.0\.0\.1:0 is free$`, table)
	assert.Regexp(t, `(?m)^fit +fsync +[0-9.]+[µm]s +limit 20ms +median `, table)

	token := filepath.Join(data, "admin.token")
	require.NoError(t, os.WriteFile(token, []byte("x\n"), 0o644))
	require.NoError(t, os.Chmod(token, 0o644))
	r := s.run(append(flags, "-o", "json")...)
	r.fails(exitFailed)
	assert.Equal(t, "1 check unfit", r.failure().Message)
	decodeJSON(t, r.out, &e)
	assert.False(t, e.OK)
	s.run(flags...).fails(exitFailed, "queued: 1 check unfit")
}

// While a server runs, doctor reports its addresses as the server's and does not open the stores.
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
	assert.Equal(t, []string{"open in a running server, so not read; check that server with /audit"}, messages)
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
	assert.Equal(t, []string{"unfit", "unfit"}, levels)
	assert.Contains(t, messages[0], "q.hcl:1:1: unknown attribute shrads")
	assert.Contains(t, messages[1], "--durability: ")
	assert.NoDirExists(t, "data")
}

// Checking a backup does not change it.
func TestDoctorLeavesABackupAlone(t *testing.T) {
	_, backup := backedUp(t)
	s := newShell(t)
	s.run("doctor", "--data", backup, "--listen", "127.0.0.1:0", "--http", "", "--admin", "").fails(exitFailed, "1 check unfit")
	s.ok("restore", "--from", backup, "--data", filepath.Join(t.TempDir(), "restored"))
}

// Doctor compares its own program and the running server's by content, and explains why a server
// could not be asked.
func TestDoctorComparesThePrograms(t *testing.T) {
	data := t.TempDir()
	p := start(t, "--data", data)
	args := []string{"doctor", "--data", data, "--listen", p.Listen[0], "--http", "", "--admin", p.Admin, "-o", "json"}
	_, out, _ := run(t, args...) // the same file
	var e examined
	decodeJSON(t, out, &e)
	levels, messages := e.find("version")
	assert.Equal(t, []string{"fit"}, levels, "%v", messages)
	assert.Contains(t, messages[0], ", the same as the running server")

	s := newShell(t) // the test binary
	decodeJSON(t, s.run(args...).out, &e)
	levels, messages = e.find("version")
	assert.Equal(t, []string{"warning"}, levels, "%v", messages)
	assert.Contains(t, messages[0], "the running server is another build")

	s.env = []string{"QUEUED_TOKEN=guessed"}
	decodeJSON(t, s.run(args...).out, &e)
	for _, check := range []string{"version", "server's clock"} {
		levels, messages = e.find(check)
		assert.Equal(t, []string{"unknown"}, levels, "%v", messages)
		assert.Contains(t, messages[0], "the access token is not valid")
		assert.NotContains(t, messages[0], "rpc error")
	}
}

// The table has the columns of 'prony doctor': state, check, value, limit, explanation, and a
// summary line.
func TestDoctorPrintsATable(t *testing.T) {
	var out strings.Builder
	a := serverCommands{&app{out: &out}}
	err := a.printFindings([]doctor.Finding{
		{Check: "open files", Level: doctor.Fit, Value: "1048576", Limit: "limit 2000", Message: "the limit is 1048576"},
		{Check: "clock", Level: doctor.Warning, Message: "nothing synchronizes it", Remedy: "run chrony"},
		{Check: "version", Level: doctor.Unknown, Message: "the server does not say"},
		{Check: "free space", Level: doctor.Unfit, Value: "1MiB", Limit: "limit 4GiB", Message: "1MiB of 1TiB", Remedy: "free space"},
	})
	require.EqualError(t, err, "1 check unfit")
	assert.Equal(t, `fit      open files  1048576  limit 2000  the limit is 1048576
warning  clock                            nothing synchronizes it
                                          -> run chrony
unknown  version                          the server does not say
unfit    free space  1MiB     limit 4GiB  1MiB of 1TiB
                                          -> free space

unfit: 4 checks, 1 unfit, 1 warning, 1 unknown
`, out.String())
}
