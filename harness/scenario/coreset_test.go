package scenario

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The core set is small enough to be measured repeatedly.
func TestTheCoreSetIsMeasuredInTwoHours(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../scenarios/*.hcl", "../../scenarios/*/*.hcl"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, slices.DeleteFunc(found, func(path string) bool { return filepath.Base(filepath.Dir(path)) == "shared" })...)
	}
	all, err := Load(files...)
	require.NoError(t, err)
	points, took := 0, time.Duration(0)
	var names []string
	for _, s := range all {
		if slices.Contains(s.Tags, "core") {
			points, took, names = points+len(s.Plan()), took+s.Expected(), append(names, s.Name)
		}
	}
	assert.Subset(t, names, []string{"default", "full-cycle-sync", "raft-full-cycle-sync", "open-half", "cost-of-ha", "durability"}, "the scenarios in the overview")
	assert.LessOrEqual(t, points, 60)
	assert.Less(t, took, 2*time.Hour)
}
