package main

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const shownBefore = "Text.\n```console\n$ prony a --b\nold\noutput\n```\nand\n```text\n$ prony c\nstays\n```\n" +
	"<!-- page \"Host\" 1 -->\nold table\n<!-- end -->\n```console\n$ prony d\n```\n<!-- file \"a/b.md\" -->\n<!-- end -->\n"

func aPage(path string) (string, error) {
	if path != newest {
		return "of " + path + "\n", nil
	}
	return "# T\n\n## Host in the windows\n\nText.\n\n| a |\n| --- |\n| 1 |\n| 2 |\n\nthroughput = x\n\n## Next\n\n| b |\n", nil
}

func TestRenew(t *testing.T) {
	t.Parallel()
	var ran []string
	shown, err := renew(shownBefore, func(line string) (string, error) {
		ran = append(ran, line)
		return "new of " + line + "\n", nil
	}, aPage)
	require.NoError(t, err)
	assert.Equal(t, []string{"prony a --b", "prony d"}, ran, "in order, and nothing else")
	assert.Equal(t, "Text.\n```console\n$ prony a --b\nnew of prony a --b\n```\nand\n```text\n$ prony c\nstays\n```\n"+
		"<!-- page \"Host\" 1 -->\n\n| a |\n| --- |\n| 1 |\n\n> throughput = x\n\n<!-- end -->\n```console\n$ prony d\nnew of prony d\n```\n<!-- file \"a/b.md\" -->\n\nof a/b.md\n\n<!-- end -->\n", shown)
	files, err := renew(shownBefore, nil, aPage)
	require.NoError(t, err)
	assert.Contains(t, files, "old\noutput")
	assert.Contains(t, files, "old table")
	assert.Contains(t, files, "of a/b.md")
	again, err := renew(shown, func(line string) (string, error) { return "new of " + line, nil }, aPage)
	require.NoError(t, err)
	assert.Equal(t, shown, again)
}

func TestRenewFails(t *testing.T) {
	t.Parallel()
	ok := func(string) (string, error) { return "", nil }
	_, err := renew(shownBefore, func(string) (string, error) { return "", errors.New("no") }, aPage)
	require.ErrorContains(t, err, "prony a --b: no")
	_, err = renew(shownBefore, ok, func(string) (string, error) { return "", fs.ErrNotExist })
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, page := range []string{"# T\n", "# T\n\n## Host\n\n## Next\n| a |\n| --- |\n| 1 |\n"} {
		_, err = renew(shownBefore, ok, func(string) (string, error) { return page, nil })
		require.ErrorContains(t, err, `"Host"`)
	}
}

// What is shown of the page is there to be renewed, and a file is shown as it is.
func TestTheDocumentCanBeRenewed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(console.FindAllString(string(text), -1)), 6)
	pages, files := 0, 0
	for _, parts := range excerpt.FindAllStringSubmatch(string(text), -1) {
		if parts[2] == "page" {
			pages++
			continue
		}
		files++
		file, err := os.ReadFile("../../../" + parts[3])
		require.NoError(t, err)
		assert.Equal(t, "\n"+string(file)+"\n", parts[5], "%s has changed: run 'make generate'", parts[3])
	}
	assert.GreaterOrEqual(t, pages, 2)
	assert.GreaterOrEqual(t, files, 1)
}
