package topology

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	read := func(count int) []string {
		lines, err := lastLines(path, count)
		require.NoError(t, err)
		return lines
	}
	write("")
	assert.Empty(t, read(3))
	write("a\nb\n\nc\n\n")
	assert.Equal(t, []string{"", "c"}, read(2))
	assert.Equal(t, []string{"a", "b", "", "c"}, read(10))
	assert.Empty(t, read(0))
	assert.Empty(t, read(-1))

	var long strings.Builder
	for i := range 100000 {
		long.WriteString(strconv.Itoa(i) + "\n")
	}
	write(long.String())
	assert.Equal(t, []string{"99998", "99999"}, read(2))
	assert.Less(t, len(read(100000)), 20000, "only the end of the file is read")

	_, err := lastLines(path+".missing", 1)
	require.ErrorContains(t, err, "read the server's log")
}

func TestServerErrorReadsWell(t *testing.T) {
	e := &ServerError{
		Problem: "the server ended by itself",
		Command: []string{"bin/queued", "serve"},
		Status:  "exit status 3",
		LogPath: "runs/1/server.log",
		Lines:   []string{"one", "two"},
		Err:     os.ErrClosed,
	}
	assert.Equal(t, `the server ended by itself: file already closed
  command: bin/queued serve
  status: exit status 3
  log: runs/1/server.log, which ends with
    one
    two`, e.Error())
	require.ErrorIs(t, e, os.ErrClosed)
	e.Lines, e.Err = nil, nil
	assert.Contains(t, e.Error(), "log: runs/1/server.log (empty)")
}
