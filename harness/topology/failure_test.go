package topology

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestLogThatCannotBeRead(t *testing.T) {
	n := &Node{server: &Server{logPath: filepath.Join(t.TempDir(), "missing")}}
	_, err := n.LastLines(1)
	require.ErrorIs(t, err, os.ErrNotExist)
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
	s := golden.Cases(t, "testdata/servererror.golden")
	s.Error(t, "complete", e)
	require.ErrorIs(t, e, os.ErrClosed)
	e.Lines, e.Err = nil, nil
	s.Error(t, "without log and cause", e)
}
