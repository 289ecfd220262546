package observe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/result"
)

// The times of a server with a different clock are shifted by the difference.
func TestStallsAreReadInTheTimesOfThisProcess(t *testing.T) {
	s, err := parseStalls([]byte(`{"now_ms":50000,"slow_ms":5,"commits_total":9,
		"commits":[{"began_ms":48000,"took_ms":20,"shard":1,"commands":3,"cause":"flush","causes_ms":{"flush":20},"flush_ms":18,
			"compaction_ms":1,"fsync_ms":2,"append_ms":3,"collections":4,"scheduler_wait_ms":5,"scheduler_over_ms":6}],
		"work_total":1,"work":[{"kind":"flush","store":"0001","began_ms":47500,"took_ms":700}]}`), time.Unix(1_000, 0))
	require.NoError(t, err)
	assert.Equal(t, &Stalls{
		SlowMs: 5, Total: 9,
		Commits: []result.SlowCommit{{
			AtS: 998, Ms: 20, Shard: 1, Commands: 3, Cause: "flush", CausesMs: map[string]float64{"flush": 20}, FlushMs: 18, CompactionMs: 1,
			FsyncMs: 2, AppendMs: 3, Collections: 4, SchedulerMs: 5, SchedulerOverMs: 6,
		}},
		Work: []result.StoreWork{{Kind: "flush", Store: "0001", AtS: 997.5, Ms: 700}},
	}, s)
}

// A server of another version may report fewer or more fields.
func TestStallsOfAnotherVersionAreRead(t *testing.T) {
	s, err := parseStalls([]byte(`{"now_ms":50000,"slow_ms":5,"commits":[{"began_ms":48000,"took_ms":20,"colour":"red"}],"more":{}}`), time.Unix(1_000, 0))
	require.NoError(t, err)
	assert.Equal(t, &Stalls{SlowMs: 5, Commits: []result.SlowCommit{{AtS: 998, Ms: 20}}}, s)
}

func TestAServerWithoutARecordOfStalls(t *testing.T) {
	answer := http.NotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer server.Close()
	admin := adminhttp.Client{Address: strings.TrimPrefix(server.URL, "http://")}
	texts := golden.Cases(t, "testdata/stalls.golden")
	texts.Replace(admin.Address, "ADDRESS")
	s, err := ReadStalls(t.Context(), admin)
	require.NoError(t, err)
	assert.Nil(t, s)
	answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }
	_, err = ReadStalls(t.Context(), admin)
	texts.Error(t, "forbidden", err)
	answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("no")) }
	_, err = ReadStalls(t.Context(), admin)
	texts.Error(t, "no JSON", err)
}
