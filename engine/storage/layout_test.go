package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLayout(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadLayout(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadLayoutNode(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, WriteLayoutNode(dir, "n1"), fs.ErrNotExist)
	require.NoError(t, WriteLayout(dir, 4))
	shards, err := ReadLayout(dir)
	require.NoError(t, err)
	assert.Equal(t, 4, shards)
	node, err := ReadLayoutNode(dir)
	require.NoError(t, err)
	assert.Empty(t, node)
	require.NoError(t, WriteLayoutNode(dir, "n1"))
	node, err = ReadLayoutNode(dir)
	require.NoError(t, err)
	assert.Equal(t, "n1", node)
	shards, err = ReadLayout(dir)
	require.NoError(t, err)
	assert.Equal(t, 4, shards)
	for text, want := range map[string]string{
		"":                                     "node.json: unexpected end",
		"{":                                    "node.json: unexpected end",
		`{"format":1,"shards":0}`:              "says format 1 and 0 shards, which no server wrote",
		`{"shards":1}`:                         "says format 0 and 1 shards, which no server wrote",
		`{"format":2,"shards":1}`:              "has format 2, this server reads format 1: use a newer server",
		string(make([]byte, layoutBytesMax+1)): "is larger than 4096 bytes",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, LayoutFile), []byte(text), 0o600))
		_, err := ReadLayout(dir)
		assert.ErrorContains(t, err, want, text)
	}
	assert.ErrorContains(t, WriteLayout(filepath.Join(dir, "missing"), 1), "write the data folder's layout")
}
