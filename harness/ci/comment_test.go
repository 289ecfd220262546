package ci_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/result"
)

func commentFile(t *testing.T, verdict result.Verdict, outcome result.Outcomes) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "comment.md")
	require.NoError(t, os.WriteFile(path, []byte(ci.Comment([]ci.Judgement{compared(verdict, outcome)})), 0o600))
	return path
}

// The first verdict that is not neutral posts a comment on the pull request. Later runs update that
// comment and never post a second one.
func TestCommentIsOneAndUpdated(t *testing.T) {
	g, env := newGitHub(t)
	neutral := commentFile(t, result.Pass, result.Same)
	out, code := script(t, "comment", "", env, "12", neutral)
	require.Equal(t, 0, code, out)
	assert.Empty(t, g.entries, "nothing is posted")

	out, code = script(t, "comment", "", env, "12", commentFile(t, result.Regressed, result.Worsened))
	require.Equal(t, 0, code, out)
	require.Len(t, g.entries, 1)
	assert.Contains(t, g.entries[0].Body, "prony compare: tiny: regressed")
	assert.Equal(t, "POST /repos/o/r/issues/12/comments", g.calls[len(g.calls)-1])

	out, code = script(t, "comment", "", env, "12", neutral)
	require.Equal(t, 0, code, out)
	require.Len(t, g.entries, 1)
	assert.Contains(t, g.entries[0].Body, "prony compare: tiny: pass", "the comment no longer reports a regression")
	assert.Equal(t, "PATCH /repos/o/r/issues/comments/1", g.calls[len(g.calls)-1])
}

func TestCommentRefusesWhatItDoesNotKnow(t *testing.T) {
	g, env := newGitHub(t)
	path := commentFile(t, result.Regressed, result.Worsened)
	other := filepath.Join(t.TempDir(), "other.md")
	require.NoError(t, os.WriteFile(other, []byte("hello"), 0o600))
	big := filepath.Join(t.TempDir(), "big.md")
	require.NoError(t, os.WriteFile(big, []byte("<!-- prony comment -->\n"+strings.Repeat("x", 65536)), 0o600))
	for _, args := range [][]string{{"1/../2", path}, {"12", other}, {"12", big}} {
		out, code := script(t, "comment", "", env, args...)
		assert.Equal(t, 2, code, out)
	}
	assert.Empty(t, g.calls)
	out, code := script(t, "comment", "", nil, "12", path)
	assert.Equal(t, 0, code)
	assert.Contains(t, out, "regressed", "without a token it prints")
}

// A step shows its files: the summary is appended to the step's summary, and the annotations are
// printed.
func TestShow(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, ci.Write(folder, []ci.Judgement{red()}))
	summary := filepath.Join(t.TempDir(), "step")
	require.NoError(t, os.WriteFile(summary, []byte("before\n"), 0o600))
	out, code := script(t, "show", "", []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary}, folder)
	require.Equal(t, 0, code, out)
	assert.Equal(t, strings.Join(ci.Annotations([]ci.Judgement{red()}), "\n")+"\n", out)
	text, err := os.ReadFile(summary)
	require.NoError(t, err)
	assert.Equal(t, "before\n"+ci.Summary([]ci.Judgement{red()}), string(text))

	out, code = script(t, "show", "", []string{"GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY="}, folder)
	assert.Equal(t, 0, code)
	assert.Empty(t, out, "no runner commands on a terminal")
}
