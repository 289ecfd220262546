package backup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeShard writes two files as if they were a shard's checkpoint.
func writeShard(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// A backup fails with the cause if its folder or a file disappears before it is complete. Nothing
// remains under its name.
func TestABackupFailsWithoutItsFolder(t *testing.T) {
	type places struct{ data, folder, partial string }
	for name, c := range map[string]struct {
		before func(t *testing.T, p places) // before the backup
		// After the checkpoint of a shard.
		during func(t *testing.T, p places, shard int, dir string)
		says   string
	}{
		"no data folder": {
			before: func(t *testing.T, p places) { require.NoError(t, os.RemoveAll(p.data)) }, says: "data folder .* is missing: mount its file system again",
		},
		"a link to nothing": {
			before: func(t *testing.T, p places) { require.NoError(t, os.Symlink(p.data+"-unmounted", p.folder)) },
			says:   "is a link to a folder that does not exist: mount or create that folder",
		},
		"a file in its place": {
			before: func(t *testing.T, p places) { require.NoError(t, os.WriteFile(p.folder, nil, 0o600)) },
			says:   "is no folder: remove it",
		},
		"removed": {
			during: func(t *testing.T, p places, shard int, _ string) {
				if shard == 0 {
					require.NoError(t, os.RemoveAll(p.folder))
				}
			},
			says: "folder of backups .* was removed, replaced or unmounted while the backup was made",
		},
		"replaced": {
			during: func(t *testing.T, p places, shard int, dir string) {
				if shard == 1 {
					require.NoError(t, os.Rename(p.folder, p.folder+"2"))
					for _, name := range []string{"0000", "0001"} {
						require.NoError(t, writeShard(filepath.Join(filepath.Dir(dir), name)))
					}
				}
			},
			says: "folder of backups .* was removed, replaced or unmounted while the backup was made",
		},
		"a file removed": {
			during: func(t *testing.T, p places, shard int, dir string) {
				if shard == 1 {
					require.NoError(t, os.Remove(filepath.Join(filepath.Dir(dir), "0000", "b")))
				}
			},
			says: "0000/b was removed while the backup was made",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			p := places{data, filepath.Join(data, Folder), filepath.Join(data, Folder, "b"+partialSuffix)}
			require.NoError(t, os.Mkdir(data, 0o700))
			if c.before != nil {
				c.before(t, p)
			}
			_, _, err := Make(t.Context(), data, "b", Manifest{Shards: 2}, func(shard int, dir string) error {
				if err := writeShard(dir); err != nil {
					return err
				}
				if c.during != nil {
					c.during(t, p, shard, dir)
				}
				return nil
			})
			require.Error(t, err)
			assert.Regexp(t, c.says, err.Error())
			assert.NoDirExists(t, filepath.Join(p.folder, "b"))
			assert.NoDirExists(t, p.partial)
			if name == "no data folder" {
				assert.NoDirExists(t, data, "a backup creates no data folder")
			}
		})
	}
}

// RemoveUnfinished removes the folders of interrupted backups, but neither those of backups in
// progress nor anything else.
func TestUnfinishedBackupsAreRemoved(t *testing.T) {
	data := t.TempDir()
	removed, err := RemoveUnfinished(data)
	require.NoError(t, err)
	require.Empty(t, removed, "there is no folder of backups")

	in := func(name string) string { return filepath.Join(data, Folder, name) }
	for _, name := range []string{"dead" + partialSuffix, "whole", "not a backup" + partialSuffix} {
		require.NoError(t, writeShard(in(name)))
	}
	require.NoError(t, os.WriteFile(in("file"+partialSuffix), nil, 0o600))
	path, m, err := Make(t.Context(), data, "running", Manifest{Shards: 1}, func(_ int, dir string) error {
		removed, err := RemoveUnfinished(data)
		assert.Equal(t, []string{in("dead" + partialSuffix)}, removed)
		assert.ErrorContains(t, err, in("running"+partialSuffix)+" is in use")
		_, _, err = Make(t.Context(), data, "running", Manifest{Shards: 1}, func(_ int, dir string) error { return writeShard(dir) })
		assert.ErrorContains(t, err, "is in use", "a second backup with the same name")
		return writeShard(dir)
	})
	require.NoError(t, err)
	require.Len(t, m.Files, 2, "the lock is not part of the backup")
	_, err = Verify(t.Context(), path)
	require.NoError(t, err)
	removed, err = RemoveUnfinished(data)
	require.NoError(t, err)
	require.Empty(t, removed)
	entries, err := os.ReadDir(filepath.Join(data, Folder))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{"file" + partialSuffix, "not a backup" + partialSuffix, "running", "whole"}, names)
	assert.NoFileExists(t, filepath.Join(path, lockName))
}
