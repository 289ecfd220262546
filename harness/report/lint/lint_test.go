package lint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
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
		found[i].Text = strings.NewReplacer(dir, "FOLDER", filepath.Dir(dir), "PARENT").Replace(found[i].Text)
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
	s := golden.Cases(t, "testdata/links.golden")
	for to, is := range map[string]bool{
		"other.md":                       true,
		"page.md#here":                   true,
		"#here":                          true,
		"other.md#the-words-code--more":  true,
		"other.md#twice":                 true,
		"other.md#twice-1":               true,
		"other.md#by-hand":               true,
		".":                              true,
		"https://example.org/nowhere#no": true,
		"mailto:somebody@example.org":    true,
		"other.md#twice-2":               false,
		"#there":                         false,
		"another.md":                     false,
		"../other.md":                    false,
		"%zz":                            false,
	} {
		for _, text := range []string{"[x](" + to + ")", "![x](" + to + ")"} {
			found := lintText(t, "# Here\n\n"+text+"\n")
			if is {
				assert.Empty(t, found, to)
				continue
			}
			require.Len(t, found, 1, to)
			assert.Equal(t, Link, found[0].Rule)
			s.Equal(t, text, found[0].Text)
			assert.Equal(t, 3, found[0].Line)
		}
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Files(filepath.Join(t.TempDir(), "no.md"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Pages(filepath.Join(t.TempDir(), "no"), nil, nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
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
	s := golden.Cases(t, "testdata/pages.golden")
	s.Replace(dir, "FOLDER")
	for i, name := range []string{"a page without a source", "an unknown commit", "old commits"} {
		s.Equal(t, name, found[i].Text)
	}
	assert.False(t, found[0].Warning())
	assert.True(t, found[1].Warning())

	damaged := errors.New("it is damaged")
	_, err = Pages(dir, func(string) (string, error) { return "", damaged }, behind)
	assert.ErrorIs(t, err, damaged)
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
			assert.True(t, strings.HasPrefix(found[0].Text, "\""+typed+"\" "), found[0].Text)
		}
	}
	_, err := Sources(path + "no")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
