package ci_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// script runs a script of ci/ with additional environment variables, and returns its output and its
// exit code.
func script(t *testing.T, name, stdin string, env []string, args ...string) (string, int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "../../ci/"+name, args...)
	c.Stdin = strings.NewReader(stdin)
	c.Env = append(os.Environ(), "GH_TOKEN=")
	c.Env = append(c.Env, env...)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// entry is an issue or a comment on the fake GitHub server.
type entry struct {
	Number int    `json:"number"`
	ID     int    `json:"id"`
	Title  string `json:"title,omitempty"`
	Body   string `json:"body"`
	HTML   string `json:"html_url"`
	User   struct {
		Login string `json:"login"`
	} `json:"user"`
}

// gitHub is a fake of the GitHub API: it lists entries in pages of a hundred, adds and changes
// them, and records the calls.
type gitHub struct {
	mu      sync.Mutex
	entries []entry
	calls   []string
	tokens  []string
	fails   bool
}

func newGitHub(t *testing.T) (*gitHub, []string) {
	t.Helper()
	g := &gitHub{entries: []entry{}}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return g, []string{"GITHUB_API_URL=" + s.URL, "GITHUB_REPOSITORY=o/r", "GH_TOKEN=secret", "GITHUB_SHA=abc", "GITHUB_RUN_ID=7", "GITHUB_SERVER_URL=https://g.example"}
}

func (g *gitHub) add(login, body string) {
	e := entry{Number: len(g.entries) + 1, ID: len(g.entries) + 1, Body: body}
	e.User.Login = login
	g.entries = append(g.entries, e)
}

func (g *gitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, r.Method+" "+r.URL.RequestURI())
	g.tokens = append(g.tokens, r.Header.Get("Authorization"))
	if g.fails {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var answer any
	switch r.Method {
	case http.MethodGet:
		var page int
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
		from := min((page-1)*100, len(g.entries))
		answer = g.entries[from:min(from+100, len(g.entries))]
	case http.MethodPost:
		g.add("github-actions[bot]", "")
		e := &g.entries[len(g.entries)-1]
		_ = json.Unmarshal(body, e)
		answer = e
	case http.MethodPatch:
		var number int
		_, _ = fmt.Sscan(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], &number)
		e := &g.entries[number-1]
		_ = json.Unmarshal(body, e)
		answer = e
	}
	_ = json.NewEncoder(w).Encode(answer)
}

const failedNight = `{"soak":{"result":"success"},"test-long":{"result":"failure"},"race":{"result":"cancelled"}}`

// A failed night opens one issue, and the next failed one updates it.
func TestNightlyIssueIsOne(t *testing.T) {
	g, env := newGitHub(t)
	out, code := script(t, "nightly-issue", "", append(env, "NEEDS="+failedNight))
	require.Equal(t, 0, code, out)
	require.Len(t, g.entries, 1)
	issue := g.entries[0]
	assert.Equal(t, "The nightly run fails", issue.Title)
	assert.True(t, strings.HasPrefix(issue.Body, "<!-- prony nightly -->\n"))
	golden.Text(t, "testdata/nightly.md", issue.Body)
	for _, token := range g.tokens {
		assert.Equal(t, "Bearer secret", token)
	}

	out, code = script(t, "nightly-issue", "", append(env, "GITHUB_SHA=def", "NEEDS="+failedNight))
	require.Equal(t, 0, code, out)
	require.Len(t, g.entries, 1, "the same issue")
	assert.Contains(t, g.entries[0].Body, "commit def")
}

// A marker in another user's text, or in the middle of a text, does not identify the issue; a
// marker on a later page does.
func TestNightlyIssueOfOthersIsLeftAlone(t *testing.T) {
	g, env := newGitHub(t)
	for range 100 {
		g.add("somebody", "<!-- prony nightly -->\nmine")
	}
	g.add("github-actions[bot]", "quoted: <!-- prony nightly -->")
	g.add("github-actions[bot]", "<!-- prony nightly -->\nold")
	out, code := script(t, "nightly-issue", "", append(env, "NEEDS="+failedNight))
	require.Equal(t, 0, code, out)
	require.Len(t, g.entries, 102)
	assert.Equal(t, "<!-- prony nightly -->\nmine", g.entries[0].Body)
	assert.Contains(t, g.entries[101].Body, "test-long: failure")
}

func TestNightlyIssueOfNoFailureAndOfNoAnswer(t *testing.T) {
	g, env := newGitHub(t)
	out, code := script(t, "nightly-issue", "", append(env, `NEEDS={"soak":{"result":"success"},"race":{"result":"skipped"}}`))
	assert.Equal(t, 0, code, out)
	assert.Empty(t, g.calls, "nothing failed")
	g.fails = true
	out, code = script(t, "nightly-issue", "", append(env, "NEEDS="+failedNight))
	assert.NotEqual(t, 0, code, out)
	assert.Len(t, g.calls, 1, "it does not open a second issue if it cannot read the first")
	out, code = script(t, "nightly-issue", "", []string{"NEEDS=" + failedNight})
	assert.Equal(t, 0, code, out)
	assert.Contains(t, out, "test-long: failure", "without a token it prints")
}

func selfTest(alarms, same, called, slower int) string {
	kind := func(name string, red, all int) string {
		return fmt.Sprintf(`{"name":%q,"trials":[{"looks":1,"disjoint":true,"trials":%d,"verdicts":{"regressed":%d,"pass":%d}},{"looks":1,"disjoint":false,"trials":9,"verdicts":{"regressed":9}}]}`,
			name, all, red, all-red)
	}
	return `{"kinds":[` + kind("identical", alarms, same) + `,` + kind("layout", 0, 0) + `,` + kind("cpu-10", called, slower) + `]}`
}

func TestGateSelftestJudge(t *testing.T) {
	s := golden.Cases(t, "testdata/selftest.golden")
	for _, c := range []struct{ alarms, same, called, slower, code int }{
		{0, 12, 5, 5, 0}, {1, 12, 9, 10, 0}, {2, 12, 5, 5, 1}, {0, 12, 4, 5, 1}, {0, 0, 5, 5, 1}, {0, 12, 0, 0, 1},
	} {
		out, code := script(t, "gate-selftest-judge", selfTest(c.alarms, c.same, c.called, c.slower), nil)
		assert.Equal(t, c.code, code, out)
		s.Equal(t, fmt.Sprintf("%d alarms in %d trials, %d of %d losses", c.alarms, c.same, c.called, c.slower), out)
	}
	_, code := script(t, "gate-selftest-judge", "no JSON", nil)
	assert.NotEqual(t, 0, code)
}

// Each action is pinned by its commit, followed by its version; each job has a timeout; a token
// with write access has a separate job; and no script contains an expression.
func TestWorkflows(t *testing.T) {
	pin := regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
	files, err := os.ReadDir("../../.github/workflows")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		src, err := os.ReadFile("../../.github/workflows/" + file.Name())
		require.NoError(t, err)
		text := string(src)
		assert.Contains(t, text, "\npermissions:\n  contents: read\n", file.Name())
		assert.Contains(t, text, "\nconcurrency:\n", file.Name())
		assert.Equal(t, strings.Count(text, "runs-on:"), strings.Count(text, "timeout-minutes:"), file.Name())
		assert.Equal(t, strings.Count(text, "actions/checkout@"), strings.Count(text, "persist-credentials: false"), file.Name())
		assert.NotContains(t, text, "pull_request_target", file.Name())
		for line := range strings.Lines(text) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			if action, is := strings.CutPrefix(line, "uses: "); is {
				assert.Regexp(t, pin, action, file.Name())
			}
			if command, is := strings.CutPrefix(line, "run: "); is {
				assert.NotContains(t, command, "${{", file.Name())
				assert.NotContains(t, command, "|", "%s: each step runs a script in ci/", file.Name())
			}
		}
	}
}
