package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page is written again only from data of this program's version: the page of an older self-test stays as it is.
func TestSelfTestPageOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, selfTestPage)
	require.NoError(t, os.WriteFile(page, []byte("as it was"), 0o600))
	for text, want := range map[string]struct {
		code int
		says string
	}{
		"{":              {2, "corrupt"},
		`{"version": 9}`: {2, "it has version 9 and this program reads 2: use a newer prony"},
		`{"version": 1}`: {0, "its page stays as it is"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, selfTestData), []byte(text), 0o600))
		got := prony(t, "gate", "selftest", "--render", dir)
		assert.Equal(t, want.code, got.code, text)
		assert.Contains(t, got.stderr, want.says)
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "as it was", string(got))
}
