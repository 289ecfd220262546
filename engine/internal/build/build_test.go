package build

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheContentIsIdentified(t *testing.T) {
	const commit = "0123456789abcdef"
	from := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}}
	}
	clean := of(from("false"), func() string {
		t.Error("the commit is enough")
		return ""
	})
	changed := of(from("true"), func() string { return "aaaa" })
	absent := of(&debug.BuildInfo{}, func() string { return "bbbb" })
	unknown := of(&debug.BuildInfo{}, func() string { return "" })
	assert.Equal(t, "commit 0123456789ab", clean.String())
	assert.Equal(t, "commit 0123456789ab, changed, SHA-256 aaaa", changed.String())
	assert.Equal(t, "SHA-256 bbbb", absent.String())
	assert.Equal(t, "unknown content", unknown.String())
	all := []Info{clean, changed, absent, unknown}
	for i := range all {
		for j := range all {
			assert.Equal(t, i == j && i < 3, all[i].Same(all[j]), "%v and %v", all[i], all[j])
		}
	}
	other := changed
	other.SHA256 = "cccc"
	assert.False(t, changed.Same(other), "two changes of one commit")
}

func TestTheHashIsTheProgramsFile(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	assert.Equal(t, hex.EncodeToString(sum[:]), hash())
}
