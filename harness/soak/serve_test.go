package soak

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Get(url)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// While a soak runs, its page and its metrics show the latest status, and the metrics follow the
// rules of Prometheus.
func TestServe(t *testing.T) {
	t.Parallel()
	server, err := Serve("127.0.0.1:0")
	require.NoError(t, err)
	code, _ := get(t, server.URL())
	assert.Equal(t, http.StatusServiceUnavailable, code, "before the first window")

	b := newBench(t, t.TempDir(), 70).changing(func(number int, w *Window) {
		if number == 2 {
			w.Round.Ledger.Lost = 3
			w.Events = []string{"a <b>bold</b> thing"}
		}
	})
	b.every = time.Nanosecond
	var pages, metrics string
	b.Publish = func(s Status) {
		server.Publish(s)
		if s.Soak.Totals.Windows == 65 && s.Latest != nil {
			code, pages = get(t, server.URL())
			assert.Equal(t, http.StatusOK, code)
			_, metrics = get(t, server.URL()+"metrics")
		}
	}
	_, err = Run(t.Context(), b.Options)
	require.NoError(t, err)
	code, _ = get(t, server.URL()+"other")
	assert.Equal(t, http.StatusNotFound, code)
	for _, path := range []string{"", "metrics"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL()+path, http.NoBody)
		require.NoError(t, err)
		request.Host = "evil.example"
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusForbidden, answer.StatusCode, "a page of another site")
	}
	require.NoError(t, server.Close())

	assert.Contains(t, pages, `<meta http-equiv="refresh" content="10">`)
	assert.Contains(t, pages, "Measured 10m50s of 11m40s")
	assert.Contains(t, pages, "a &lt;b&gt;bold&lt;/b&gt; thing", "foreign texts are escaped")
	assert.Equal(t, len(scenario.SoakFigures), strings.Count(pages, "<polyline"))
	assert.NotContains(t, pages, "http://", "the page is self-contained")
	for _, line := range []string{
		`prony_soak_windows_total{kind="judged"} 64`, `prony_soak_tasks_at_fault_total{fault="lost"} 3`, `prony_soak_measured_seconds_total 650`,
		`prony_soak_process_open_fds{process="server"} 50`, `prony_soak_drift_limit_ratio{figure="disk_mb"} 0.02`,
	} {
		assert.Contains(t, metrics, line+"\n")
	}
	for _, name := range []string{"prony_soak_window_cycles_per_second", "prony_soak_window_cycle_latency_p99_seconds", "prony_soak_drift_upper_bound_ratio", "prony_soak_left_seconds", "prony_soak_process_resident_memory_bytes"} {
		assert.Contains(t, metrics, "\n"+name)
	}
	problems, err := promlint.New(bytes.NewReader([]byte(metrics))).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// The page is well-formed before the first window and after the last.
func TestPageIsWellFormed(t *testing.T) {
	t.Parallel()
	soak, err := Run(t.Context(), newBench(t, t.TempDir(), 2).Options)
	require.NoError(t, err)
	for _, s := range []*result.Soak{{}, soak} {
		text, err := page(s, 0)
		require.NoError(t, err)
		text = strings.Replace(text, `<meta charset="utf-8">`, "", 1)
		text = strings.Replace(text, `<meta http-equiv="refresh" content="10">`, "", 1)
		decoder := xml.NewDecoder(strings.NewReader(text))
		decoder.Entity = xml.HTMLEntity
		for {
			if _, err = decoder.Token(); err != nil {
				break
			}
		}
		require.True(t, errors.Is(err, io.EOF), "%v in %s", err, text)
	}
}

func TestListenAddress(t *testing.T) {
	t.Parallel()
	texts := golden.Cases(t, "testdata/listen.golden")
	for text, want := range map[string]string{
		"9100": "127.0.0.1:9100", "0": "127.0.0.1:0", "127.0.0.1:0": "127.0.0.1:0", "0.0.0.0:9100": "0.0.0.0:9100", "[::1]:80": "[::1]:80",
	} {
		got, err := ListenAddress(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"", ":9100", "localhost", "70000", "127.0.0.1:70000", "-1"} {
		_, err := ListenAddress(text)
		texts.Error(t, strconv.Quote(text), err)
	}
}
