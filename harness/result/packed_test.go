package result

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFilesAreReadInBothForms(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	_, err := ReadFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	exists, err := Exists(dir, "a.json")
	require.NoError(t, err)
	assert.False(t, exists)

	text := []byte(strings.Repeat(`{"version":4}`, 1000))
	require.NoError(t, os.WriteFile(path, []byte("replaced"), 0o600))
	require.NoError(t, WritePacked(path, text))
	assert.NoFileExists(t, path, "readers would prefer it")
	packed, err := os.ReadFile(path + PackedSuffix)
	require.NoError(t, err)
	assert.Less(t, len(packed), len(text)/10)
	again := filepath.Join(dir, "again.json")
	require.NoError(t, WritePacked(again, text))
	same, err := os.ReadFile(again + PackedSuffix)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(packed, same), "the same content has the same compressed form")

	read, err := ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, text, read)
	exists, err = Exists(dir, "a.json")
	require.NoError(t, err)
	assert.True(t, exists)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.json"), text, 0o600))
	found, err := Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	assert.Equal(t, []string{path, again, filepath.Join(dir, "b.json")}, found)

	require.NoError(t, os.WriteFile(path+PackedSuffix, packed[:len(packed)/2], 0o600))
	_, err = ReadFile(path)
	require.ErrorContains(t, err, "a.json.zst: corrupt: ")
	require.NoError(t, os.Remove(path+PackedSuffix))
	require.NoError(t, os.Mkdir(path+PackedSuffix, 0o700))
	_, err = ReadFile(path)
	require.Error(t, err)
	assert.False(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}

// A small file must not make a reader allocate without bound.
func TestUnpackingIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.json")
	require.NoError(t, WritePacked(path, make([]byte, unpackedMax+1)))
	_, err := ReadFile(path)
	require.ErrorContains(t, err, "large.json.zst: corrupt: ")
}
