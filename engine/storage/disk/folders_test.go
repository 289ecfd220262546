package disk

import (
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
)

// TestMadeFolderSurvivesALossOfPower creates folders. Some exist already, and may come from a
// process that died before it fsynced their entries.
func TestMadeFolderSurvivesALossOfPower(t *testing.T) {
	for name, before := range map[string]func(fs vfs.FS){
		"nothing exists":    func(vfs.FS) {},
		"the parent exists": func(fs vfs.FS) { require.NoError(t, MakeFolder(fs, "/a/b")) },
		"another process created it": func(fs vfs.FS) {
			require.NoError(t, MakeFolder(fs, "/a/b"))
			require.NoError(t, fs.MkdirAll("/a/b/c", 0o700))
		},
		"it exists and is durable": func(fs vfs.FS) { require.NoError(t, MakeFolder(fs, "/a/b/c")) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			before(fs)
			require.NoError(t, MakeFolder(fs, "/a/b/c"))
			_, err := powerLoss(fs).Stat("/a/b/c")
			require.NoError(t, err)
		})
	}
}

// TestFolderOfAnotherNeedNotBeSynced: the parent of an existing folder may be unreadable, but the
// parent of a new folder must not be.
func TestFolderOfAnotherNeedNotBeSynced(t *testing.T) {
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("/a/b", 0o700))
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpOpenDir && op.Path == "/a" {
			return os.ErrPermission
		}
		return nil
	}))
	require.NoError(t, MakeFolder(fs, "/a/b"))
	require.ErrorContains(t, MakeFolder(fs, "/a/c"), "/a")
}
