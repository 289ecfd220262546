package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/peerpb"
)

func TestIdentityIsKept(t *testing.T) {
	dir := t.TempDir()
	d, err := openIdentity(dir, false)
	require.NoError(t, err)
	assert.False(t, d.get().Admitted)
	require.NoFileExists(t, filepath.Join(dir, identityFile), "the folder may be refused yet")
	require.NoError(t, d.change(true, false))
	require.NoError(t, d.note("n2", "a", nil))
	again, err := openIdentity(dir, true)
	require.NoError(t, err)
	assert.Equal(t, d.get(), again.get())
	assert.True(t, again.get().Wiped)
	assert.False(t, again.get().Admitted, "the file takes precedence")
	assert.Equal(t, "a", again.seen("n2"))
	other, err := openIdentity(t.TempDir(), true)
	require.NoError(t, err)
	assert.True(t, other.get().Admitted, "a member's folder without an identity file")
	assert.NotEqual(t, d.get().Incarnation, other.get().Incarnation)
}

func TestIdentityRefusesWhatNoServerWrote(t *testing.T) {
	for text, problem := range map[string]string{
		"{":            "unexpected end of JSON input",
		"{}":           "which no server wrote",
		`{"format":1}`: "which no server wrote",
		`{"format":2}`: "use a newer server",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, identityFile), []byte(text), 0o600))
		_, err := openIdentity(dir, false)
		assert.ErrorContains(t, err, problem, text)
	}
}

func TestIncarnationsThatAreKeptAreBounded(t *testing.T) {
	d, err := openIdentity(t.TempDir(), false)
	require.NoError(t, err)
	member := func(node string) bool { return node == "n0" }
	for i := range 2 * incarnationsMax {
		require.NoError(t, d.note(fmt.Sprintf("n%d", i), "a", member))
		require.LessOrEqual(t, len(d.record.Seen), incarnationsMax)
	}
	assert.Equal(t, "a", d.seen("n0"), "members stay")
}

func TestStandingIsOfTheDataFolder(t *testing.T) {
	d, err := openIdentity(t.TempDir(), false)
	require.NoError(t, err)
	p := &peers{directory: newDirectory(), groups: &groups{node: "n1"}, identity: d}
	assert.Equal(t, peerpb.Standing_STANDING_UNKNOWN, d.standing("n2", "a"))
	info := &peerpb.GetInfoResponse{Incarnation: "a", Groups: []*peerpb.Group{{}}}
	p.noteIncarnation("n2", info)
	assert.Equal(t, peerpb.Standing_STANDING_UNKNOWN, d.standing("n2", "b"), "the node had not applied any entry")
	info.Groups[0].AppliedIndex = 1
	p.noteIncarnation("n2", info)
	assert.Equal(t, peerpb.Standing_STANDING_UNKNOWN, d.standing("n2", "a"))
	assert.Equal(t, peerpb.Standing_STANDING_KNOWN_OTHER, d.standing("n2", "b"))
	assert.Equal(t, peerpb.Standing_STANDING_UNKNOWN, d.standing("n3", "b"))
}
