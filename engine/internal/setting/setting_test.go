package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSplit(t *testing.T) {
	a, b, other := Errorf("a", "change it", "a is %d", 1), Wrap(errors.New("b is bad"), "", "b", "a"), errors.New("other")
	settings, others := Split(errors.Join(a, errors.Join(other, b)))
	require.Len(t, settings, 2)
	assert.Equal(t, []string{"a"}, settings[0].Paths)
	assert.Equal(t, "a is 1: change it", settings[0].Error())
	assert.Equal(t, "a is 1", settings[0].Problem())
	assert.Equal(t, "b is bad", settings[1].Error())
	assert.Equal(t, []error{other}, others)
	settings, others = Split(fmt.Errorf("open: %w", a))
	assert.Len(t, settings, 1)
	assert.Empty(t, others)
	settings, others = Split(nil)
	assert.Empty(t, settings)
	assert.Empty(t, others)
	assert.NoError(t, Wrap(nil, "", "a"))
}

// An error that may disappear before a restart is not the fault of the setting.
func TestPath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	below := os.Mkdir(filepath.Join(file, "below"), 0o700)
	for _, err := range []error{below, fs.ErrPermission, syscall.EROFS, &fs.PathError{Err: syscall.EACCES}} {
		assert.ErrorAs(t, Path(err, "", "data"), new(*Error), "%v", err)
	}
	for _, err := range []error{syscall.ENOSPC, syscall.EADDRINUSE, syscall.EIO, errors.New("other"), nil} {
		assert.Equal(t, err, Path(err, "", "data"))
	}
}
