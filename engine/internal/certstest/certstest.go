// Package certstest creates certificates of nodes for tests.
package certstest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// ca returns the CA that signs the certificates of all nodes in the test process.
var ca = sync.OnceValues(func() (*certs.CA, error) { return certs.NewCA(time.Now()) })

// Dir returns a folder with certificates for a node. All nodes of a test process share one CA.
func Dir(t testing.TB, node string) string {
	t.Helper()
	authority, err := ca()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, authority.WriteNode(dir, node, time.Now()))
	return dir
}
