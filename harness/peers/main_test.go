package peers_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronybench/prony/engine/buildtest"
)

// TestMain builds Prony's own server, and lets the tests find the servers that ci/peers.sh built
// into bin.
func TestMain(m *testing.M) {
	queued, err := buildtest.Program("queued", "engine/cmd/queued")
	bin, binErr := filepath.Abs("../../bin")
	err = errors.Join(err, binErr,
		os.Setenv("PRONY_QUEUED", queued), os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
