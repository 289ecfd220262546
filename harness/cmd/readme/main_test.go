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
	"<!-- page \"Host\" 1 -->\nold table\n<!-- end -->\n```console\n$ prony d\n```\n<!-- file \"a/b.md\" -->\n<!-- end -->\n" +
	"<!-- run \"reports/data/x\" -->\nold figures\n<!-- end -->\n"

func aPage(path string) (string, error) {
	if path != newest {
		return "of " + path + "\n", nil
	}
	return "# T\n\n## Host in the windows\n\nText.\n\n| a |\n| --- |\n| 1 |\n| 2 |\n\nthroughput = x\n\n## Next\n\n| b |\n", nil
}

// aRun is a headline.
func aRun(dir string) (string, error) { return "headline of " + dir + "\n", nil }

func TestRenew(t *testing.T) {
	t.Parallel()
	var ran []string
	shown, err := sources{func(line string) (string, error) {
		ran = append(ran, line)
		return "new of " + line + "\n", nil
	}, aPage, aRun}.renew(shownBefore)
	require.NoError(t, err)
	assert.Equal(t, []string{"prony a --b", "prony d"}, ran, "in order, and nothing else")
	assert.Equal(t, "Text.\n```console\n$ prony a --b\nnew of prony a --b\n```\nand\n```text\n$ prony c\nstays\n```\n"+
		"<!-- page \"Host\" 1 -->\n\n| a |\n| --- |\n| 1 |\n\n> throughput = x\n\n<!-- end -->\n```console\n$ prony d\nnew of prony d\n```\n<!-- file \"a/b.md\" -->\n\nof a/b.md\n\n<!-- end -->\n"+
		"<!-- run \"reports/data/x\" -->\n\nheadline of reports/data/x\n\n<!-- end -->\n", shown)
	files, err := sources{nil, aPage, aRun}.renew(shownBefore)
	require.NoError(t, err)
	assert.Contains(t, files, "old\noutput")
	assert.Contains(t, files, "old table")
	assert.Contains(t, files, "of a/b.md")
	assert.Contains(t, files, "headline of reports/data/x")
	again, err := sources{func(line string) (string, error) { return "new of " + line, nil }, aPage, aRun}.renew(shown)
	require.NoError(t, err)
	assert.Equal(t, shown, again)
}

func TestRenewFails(t *testing.T) {
	t.Parallel()
	ok := func(string) (string, error) { return "", nil }
	_, err := sources{func(string) (string, error) { return "", errors.New("no") }, aPage, aRun}.renew(shownBefore)
	require.ErrorContains(t, err, "prony a --b: no")
	_, err = sources{ok, func(string) (string, error) { return "", fs.ErrNotExist }, aRun}.renew(shownBefore)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, page := range []string{"# T\n", "# T\n\n## Host\n\n## Next\n| a |\n| --- |\n| 1 |\n"} {
		_, err = sources{ok, func(string) (string, error) { return page, nil }, aRun}.renew(shownBefore)
		require.ErrorContains(t, err, `"Host"`)
	}
	_, err = sources{nil, aPage, func(string) (string, error) { return "", errors.New("it has no rate") }}.renew(shownBefore)
	require.ErrorContains(t, err, "it has no rate", "a headline is written without measuring, and must be complete")
}

// The page parts of the documents can be updated, and files and headlines of published runs are up
// to date.
func TestTheDocumentsCanBeRenewed(t *testing.T) {
	t.Chdir("../../..")
	blocks, kinds := 0, map[string]int{}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		blocks += len(console.FindAllString(string(text), -1))
		for _, parts := range excerpt.FindAllStringSubmatch(string(text), -1) {
			kinds[parts[2]]++
		}
		shown, err := sources{read: readFile, headline: headline}.renew(string(text))
		require.NoError(t, err, document)
		assert.Equal(t, shown, string(text), "%s shows an outdated file or published run: run 'make readme'", document)
	}
	assert.GreaterOrEqual(t, blocks, 6)
	assert.GreaterOrEqual(t, kinds["page"], 2)
	assert.GreaterOrEqual(t, kinds["file"], 1)
}
