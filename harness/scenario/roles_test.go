package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The scenarios of single roles have the names of their files, check the ledger, and are in the
// list of files.
func TestRepositoryRoles(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/roles/*.hcl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all, err := Load(files...)
	require.NoError(t, err)
	readme, err := os.ReadFile("../../scenarios/README.md")
	require.NoError(t, err)
	for _, s := range all {
		base := strings.TrimSuffix(filepath.Base(s.File), ".hcl")
		assert.Equal(t, "roles-"+base, s.Name)
		assert.Contains(t, s.Invariants, Invariant{Kind: Conserved}, s.Name)
		assert.Contains(t, string(readme), "[roles/"+base+".hcl](roles/"+base+".hcl)", s.Name)
	}
}

func TestRoleOfAWorkload(t *testing.T) {
	for name, c := range map[string]struct {
		w                Workload
		enqueues, claims bool
	}{
		"both":      {Workload{Producers: 1, Workers: 1, Arrivals: Arrivals{Kind: Closed}}, false, false},
		"producers": {Workload{Producers: 1, Arrivals: Arrivals{Kind: Closed}}, true, false},
		"workers":   {Workload{Workers: 1, Arrivals: Arrivals{Kind: Closed}}, false, true},
		"idle":      {Workload{Workers: 1, Arrivals: Arrivals{Kind: None}}, false, false},
		"nobody":    {Workload{Arrivals: Arrivals{Kind: Closed}}, false, false},
	} {
		assert.Equal(t, []bool{c.enqueues, c.claims}, []bool{c.w.EnqueuesAlone(), c.w.ClaimsAlone()}, name)
	}
}
