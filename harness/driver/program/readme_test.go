package program

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README, from which programs in other languages are written, matches the code.
func TestTheReadmeIsTrue(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	page := string(data)
	for k, name := range map[kind]string{
		kindOpenProducer: "open producer", kindOpenWorker: "open worker", kindEnqueue: "enqueue", kindClaim: "claim", kindComplete: "complete",
		kindFail: "fail", kindCancel: "cancel", kindOpened: "opened", kindOutcomes: "outcomes", kindTasks: "tasks", kindFailed: "failed", kindClosed: "closed",
	} {
		assert.Contains(t, page, fmt.Sprintf("| 0x%02x | %s |", uint8(k), name))
	}
	for command := range new(serving).commands(t.Context()) {
		assert.Contains(t, page, "| `"+command+"` | ")
	}
	for _, of := range []any{Description{}, LaunchSpec{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			assert.Contains(t, page, "| `"+name+"` | ")
		}
	}
	for _, bound := range []string{"4,096", "65,536", "1,048,576", "8,388,608", "64\nlaunches"} {
		assert.Contains(t, page, bound)
	}
	assert.Equal(t, []int{4096, 65536, 4096, 1048576, 8388608, 64}, []int{callsMax, sessionsMax, tasksMax, claimedMax, frameBytesMax, serversMax})
	for _, g := range []Guarantee{Memory, OS, Fsync, Majority, MajorityFsync} {
		assert.Contains(t, page, "`"+string(g)+"` (")
	}
	assert.Contains(t, page, fmt.Sprintf("The version of both is %d.", Version))
}

// The smallest program of the README compiles and works.
func TestTheSmallestProgram(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(data)
	require.NotNil(t, found)
	_, err = format.Source(found[1])
	require.NoError(t, err)
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "smallest")
	require.NoError(t, os.WriteFile(source, found[1], 0o600))
	out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	p, err := Start(t.Context(), filepath.Join(dir, "log"), binary)
	require.NoError(t, err)
	s := spec(t)
	l, err := p.Launch(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []int{p.PID()}, l.PIDs())
	conn, err := l.Dial(t.Context())
	require.NoError(t, err)
	producer, worker := sessions(t, conn, "q0")
	require.NoError(t, producer.Enqueue(t.Context(), tasks("q0", "x"), make([]error, 1)))
	require.NotNil(t, worker)
	require.NoError(t, conn.Close())
	require.NoError(t, p.Close(t.Context()))
}
