package observe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/adminhttp"
)

// secret is the token that the servers of these tests require.
const secret = "prony-secret"

// admin serves body at path to clients with the token.
func admin(t *testing.T, path, body string) adminhttp.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path || r.Method != http.MethodGet {
			http.Error(w, "no such page: "+r.URL.Path, http.StatusNotFound)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return adminhttp.Client{Address: strings.TrimPrefix(server.URL, "http://"), Token: secret}
}

func TestScrapeSumsLabelsAndKeepsState(t *testing.T) {
	address := admin(t, "/metrics", `# HELP tasks Tasks held.
# TYPE tasks gauge
tasks{state="ready",queue="a"} 3
tasks{state="ready",queue="b"} 4
tasks{state="leased",queue="a"} 5
# TYPE commits_total counter
commits_total{shard="0"} 10
commits_total{shard="1"} 11
# TYPE commit_seconds histogram
commit_seconds_bucket{shard="0",le="0.1"} 2
commit_seconds_bucket{shard="0",le="+Inf"} 3
commit_seconds_sum{shard="0"} 0.5
commit_seconds_count{shard="0"} 3
# TYPE pause summary
pause{quantile="0.5"} NaN
pause_sum 1.5
pause_count 7
# TYPE broken gauge
broken NaN
plain 42
`)
	metrics, err := Scrape(t.Context(), address)
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{
		`tasks{state="ready"}`:  7,
		`tasks{state="leased"}`: 5,
		"commits_total":         21,
		"commit_seconds_sum":    0.5,
		"commit_seconds_count":  3,
		"pause_sum":             1.5,
		"pause_count":           7,
		"plain":                 42,
	}, metrics)
}

func TestScrapeFailures(t *testing.T) {
	s := golden.Cases(t, "testdata/scrapes.golden")
	for name, of := range map[string]adminhttp.Client{
		"a broken line": admin(t, "/metrics", "tasks{ 3\n"),
		"no page":       admin(t, "/elsewhere", ""),
		"a large page":  admin(t, "/metrics", "# "+strings.Repeat("x", scrapeBytesMax)),
	} {
		s.Replace(of.Address, "ADDRESS")
		_, err := Scrape(t.Context(), of)
		s.Error(t, name, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Scrape(ctx, admin(t, "/metrics", ""))
	require.ErrorIs(t, err, context.Canceled)
}

func TestAuditTotals(t *testing.T) {
	address := admin(t, "/audit", `{"queues":[
		{"tenant":"t0","queue":"q0","enqueued":10,"completed":4,"ready":3,"leased":2,"delayed":1,"dead":0,"stored":6},
		{"tenant":"t1","queue":"q0","enqueued":1,"completed":0,"ready":0,"leased":0,"delayed":0,"dead":1,"stored":1}]}`)
	audit, err := ReadAudit(t.Context(), address)
	require.NoError(t, err)
	require.Len(t, audit.Queues, 2)
	assert.Equal(t, QueueAudit{
		Tenant: "t0", Queue: "q0",
		Counts: Counts{Enqueued: 10, Completed: 4, Ready: 3, Leased: 2, Delayed: 1, Stored: 6},
	}, audit.Queues[0])
	assert.Equal(t, Counts{Enqueued: 11, Completed: 4, Ready: 3, Leased: 2, Delayed: 1, Dead: 1, Stored: 7}, audit.Totals())

	empty, err := ReadAudit(t.Context(), admin(t, "/audit", `{"queues":[]}`))
	require.NoError(t, err)
	assert.Equal(t, Counts{}, empty.Totals())
}

func TestAuditRefusesWhatIsNotThere(t *testing.T) {
	s := golden.Cases(t, "testdata/audits.golden")
	for name, body := range map[string]string{
		"no queues":         `{}`,
		"null":              `{"queues":null}`,
		"no tenant":         `{"queues":[{"queue":"q"}]}`,
		"no stored":         `{"queues":[{"tenant":"t","queue":"q","enqueued":1,"completed":1,"ready":0,"leased":0,"delayed":0,"dead":0}]}`,
		"a negative number": `{"queues":[{"tenant":"t","queue":"q","enqueued":-1}]}`,
		"no JSON":           `not json`,
	} {
		of := admin(t, "/audit", body)
		s.Replace(of.Address, "ADDRESS")
		_, err := ReadAudit(t.Context(), of)
		s.Error(t, name, err)
	}
}

// Since ignores other tenants and earlier counts. A queue that was removed in between counts from
// zero.
func TestAuditSince(t *testing.T) {
	t.Parallel()
	earlier := Audit{Queues: []QueueAudit{
		{"t0", "q0", Counts{Enqueued: 100, Completed: 90, Dead: 10, Stored: 10}}, // of one shard
		{"t0", "q0", Counts{Enqueued: 10, Completed: 10}},                        // of another
		{"t0", "gone", Counts{Enqueued: 50, Completed: 50}},
		{"t0", "again", Counts{Enqueued: 50, Completed: 50}},
		{"other", "q0", Counts{Enqueued: 7, Completed: 1, Ready: 6, Stored: 6}},
	}}.Of("t0", "t1")
	assert.Equal(t, []string{"t0", "t1"}, earlier.Tenants)
	assert.Len(t, earlier.Queues, 4)
	now := Audit{Queues: []QueueAudit{
		{"t0", "q0", Counts{Enqueued: 105, Completed: 92, Ready: 3, Dead: 10, Stored: 13}},
		{"t0", "q0", Counts{Enqueued: 12, Completed: 12}},
		{"t0", "again", Counts{Enqueued: 5, Completed: 4, Leased: 1, Stored: 1}},
		{"t1", "new", Counts{Enqueued: 1, Delayed: 1, Stored: 1}},
		{"other", "q0", Counts{Enqueued: 700, Completed: 600, Ready: 100, Stored: 100}},
	}}
	since := now.Since(earlier)
	assert.Equal(t, Counts{Enqueued: 7 + 5 + 1, Completed: 4 + 4, Ready: 3, Leased: 1, Delayed: 1, Dead: 10, Stored: 15}, since)
	assert.Equal(t, uint64(15), since.Held())
}
