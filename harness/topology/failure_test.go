package topology

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogThatCannotBeRead(t *testing.T) {
	n := &Node{server: &Server{logPath: filepath.Join(t.TempDir(), "missing")}}
	_, err := n.LastLines(1)
	require.ErrorContains(t, err, "read the server's log: open "+n.server.logPath)
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
