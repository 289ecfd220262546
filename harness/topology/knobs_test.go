package topology

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/config"
)

// The list of knobs names each setting of the server exactly once, measured or with a reason for
// its absence, and nothing else. Each scenario of its folder is in the list.
func TestKnobsNameEverySettingOnce(t *testing.T) {
	folder := filepath.Join("..", "..", "scenarios", "knobs")
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	_, tables, found := strings.Cut(string(text), "\n## Measured\n")
	require.True(t, found)
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(tables, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			named = append(named, name[1])
		}
	}
	var settings []string
	for _, s := range config.Table(config.Default()) {
		settings = append(settings, s.Path)
	}
	assert.ElementsMatch(t, settings, named)

	scenarios, err := filepath.Glob(filepath.Join(folder, "*.hcl"))
	require.NoError(t, err)
	require.NotEmpty(t, scenarios)
	linked := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(tables, -1)
	for _, link := range linked {
		_, err := os.Stat(filepath.Join(folder, link[1]))
		require.NoError(t, err, "a link of the list")
	}
	for _, path := range scenarios {
		assert.True(t, slices.ContainsFunc(linked, func(link []string) bool { return link[1] == filepath.Base(path) }), path)
	}
}
