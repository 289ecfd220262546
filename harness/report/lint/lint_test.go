package lint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lintText(t *testing.T, text string) []Finding {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "page.md")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.md"), []byte("# The Words, `code` & more\n\n## Twice\n\n## Twice\n\n<a id=\"by-hand\"></a>\n"), 0o600))
	found, err := Files(path)
	require.NoError(t, err)
	for i := range found {
		assert.Equal(t, path, found[i].File)
		found[i].File = ""
	}
	return found
}

func TestPraise(t *testing.T) {
	t.Parallel()
	for text, words := range map[string][]string{
		"The engine is fast.":                                          {"fast"},
		"The engine is fast: 92,000 cycles a second.":                  nil,
		"The engine is fast. It does 92,000 cycles a second.":          {"fast"},
		"A robust,\nscalable queue.":                                   {"robust"},
		"# A High-Performance queue":                                   {"High-Performance"},
		"- one\n- lightweight":                                         {"lightweight"},
		"| a | b |\n|---|---|\n| robust | none |\n| robust | 5 % |\n":  {"robust"},
		"It says how fast it is, and runs as fast as it may.":          nil,
		"Limits hold on fast and on slow hosts.":                       nil,
		"`fast` and\n\n```\nfast\n```\n\n    fast\n":                   nil,
		"See [the page](fast.html \"fast\")":                           nil,
		"They call it \"a robust queue. It is fast\" and more.":        nil,
		"They say \"queue\", and it is robust":                         {"robust"},
		"Breakfast is served, and fasting is robustly done.":           nil,
		"A **seamless** *state-of-the-art* queue (v1.2 is the newest)": nil,
	} {
		var found []string
		for _, f := range lintText(t, text) {
			if f.Rule == Praise {
				word, _, _ := strings.Cut(strings.TrimPrefix(f.Text, `"`), `"`)
				found = append(found, word)
			}
		}
		assert.Equal(t, words, found, text)
	}
}

func TestAFindingSaysWhere(t *testing.T) {
	t.Parallel()
	found := lintText(t, "# Page\n\nSee [there](no.md),\nwhich is known.\n\nIt is robust.\n")
	require.Len(t, found, 2)
	assert.Equal(t, 3, found[0].Line)
	assert.Equal(t, Link, found[0].Rule)
	assert.Equal(t, Finding{
		Line: 6, Rule: Praise, Text: `"robust" has no figure in its sentence "It is robust.": add the figure, or omit the word`,
	}, found[1])
	assert.Equal(t, "a.md:7: praise: so", Finding{"a.md", 7, Praise, "so"}.String())
}

func TestRatesSayWhatWasMeasured(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]bool{
		"It does 92,000 cycles/s.":                          true,
		"It does 92,000 cycles/s in `full-cycle`.":          false,
		"# Page\n\nOf `x`.\n\n## Rate\n\n92,000 cycles/s\n": false,
		"# Page\n\n## Of\n\n`x`\n\n## Rate\n\n9 cycles/s\n": true,
		"# Page\n\n## Rate\n\nOf `x`.\n\n9 cycles/s\n":      false,
		"It does 92,000 cycles/s ([page](page.md)).":        false,
		"| rate |\n|---|\n| 92,000 tasks/s |\n":             true,
		"| rate | of |\n|---|---|\n| 9 tasks/s | `hello` |": false,
		"Some cycles/s are lost.":                           false,
		"```\n92,000 cycles/s\n```":                         false,
	} {
		found := lintText(t, text)
		if !wrong {
			assert.Empty(t, found, text)
			continue
		}
		require.Len(t, found, 1, text)
		assert.Equal(t, Provenance, found[0].Rule)
		assert.Regexp(t, `^"(92,000 cycles/s|92,000 tasks/s|9 cycles/s)" has no source`, found[0].Text)
		assert.Contains(t, found[0].Text, "has no source: name the scenario or the command, or link to the page")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for to, says := range map[string]string{
		"other.md":                       "",
		"page.md#here":                   "",
		"#here":                          "",
		"other.md#the-words-code--more":  "",
		"other.md#twice":                 "",
		"other.md#twice-1":               "",
		"other.md#by-hand":               "",
		".":                              "",
		"https://example.org/nowhere#no": "",
		"mailto:somebody@example.org":    "",
		"other.md#twice-2":               "has no heading #twice-2",
		"#there":                         "has no heading #there",
		"another.md":                     "there is no ",
		"../other.md":                    "there is no ",
		"%zz":                            "is not an address",
	} {
		for _, text := range []string{"# Here\n\n[x](" + to + ")\n", "# Here\n\n![x](" + to + ")\n"} {
			found := lintText(t, text)
			if says == "" {
				assert.Empty(t, found, to)
				continue
			}
			require.Len(t, found, 1, to)
			assert.Equal(t, Link, found[0].Rule)
			assert.Contains(t, found[0].Text, says)
			assert.Equal(t, 3, found[0].Line)
		}
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Files(filepath.Join(t.TempDir(), "no.md"))
	assert.ErrorContains(t, err, "lint: open")
	_, err = Pages(filepath.Join(t.TempDir(), "no"), nil, nil)
	assert.ErrorContains(t, err, "lint: open")
}

func TestPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"selftest", "data/new", "data/old", "data/older", "data/gone", "data/soak"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	for _, name := range []string{
		"README.md", "experiments.md", "experiments.hcl", "selftest.md", "by-hand.md",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	measured := func(data string) (string, error) {
		name := filepath.Base(data)
		if name == "soak" {
			return "", nil
		}
		return name, nil
	}
	behind := func(commit string) (int, error) {
		n, known := map[string]int{"new": BehindMax, "old": BehindMax + 1, "older": BehindMax + 2}[commit]
		if !known {
			return 0, errors.New("bad revision")
		}
		return n, nil
	}
	found, err := Pages(dir, measured, behind)
	require.NoError(t, err)
	var said []string
	for _, f := range found {
		file, err := filepath.Rel(dir, f.File)
		require.NoError(t, err)
		said = append(said, file+" "+string(f.Rule))
	}
	assert.Equal(t, []string{"by-hand.md provenance", "data stale", "data stale"}, said)
	assert.Contains(t, found[0].Text, filepath.Join(dir, "by-hand.hcl"))
	assert.Equal(t, "1 run of a commit that this repository does not have: measure again: gone (gone)", found[1].Text)
	assert.Equal(t, "2 runs of code that more than 100 later commits changed: measure again: old (101), older (102)", found[2].Text)
	assert.False(t, found[0].Warning())
	assert.True(t, found[1].Warning())

	_, err = Pages(dir, func(string) (string, error) { return "", errors.New("it is damaged") }, behind)
	assert.EqualError(t, err, "it is damaged")
}

// A hand-typed figure in a source is found with its line. Code, actions and counts are not figures.
func TestSources(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	for text, typed := range map[string]string{
		"It does 40,400 cycles/s.":    "40,400 cycles/s",
		"It took 12 ms.":              "12 ms",
		"It took 12ms, as it should.": "12ms",
		"It is 3.2 times as fast.":    "3.2 times",
		"It is 2x.":                   "2x",
		"Half: 50 % of it.":           "50 %",
		"Half: 50% of it.":            "50%",
		"It needs 16.7 µs/cycle.":     "16.7 µs/cycle",
		"On 2 cores":                  "2 cores",
		"1.5 seconds\nof":             "1.5 seconds",
		"Tasks of `64 B` over `10 s`, by {{at \"a\" \"b\" \"10 ms\"}}": "",
		"```\n12 ms\n```\n": "",
		"Three nodes, 64 tasks a batch, 7 rounds of 2026-11-25.":       "",
		"See [the run](a-12-ms.md), version v1.2 s, p99 in section 3.": "",
		"{{figure \"a\"\n\"5 ms\"}} s":                                 "",
	} {
		require.NoError(t, os.WriteFile(path, []byte("# Page\n\n"+text), 0o600))
		found, err := Sources(path)
		require.NoError(t, err)
		if typed == "" {
			assert.Empty(t, found, text)
			continue
		}
		if assert.Len(t, found, 1, text) {
			assert.Equal(t, 3, found[0].Line)
			assert.Equal(t, Typed, found[0].Rule)
			assert.Contains(t, found[0].Text, "\""+typed+"\" is typed by hand: write {{figure \"SCENARIO\" \"METRIC\"}} instead, or `"+typed+"`", text)
		}
	}
	_, err := Sources(path + "no")
	assert.ErrorContains(t, err, "lint: open")
}
