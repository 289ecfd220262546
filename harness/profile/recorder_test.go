package profile

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestRecorder(t *testing.T) {
	p := newProcess(t)
	p.answer("/debug/trace/start", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.RawQuery != "seconds=5" {
			refuse(w, r)
		}
	})
	p.answer("/debug/trace/snapshot", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "go 1.26 trace") })
	p.answer("/debug/trace/stop", func(http.ResponseWriter, *http.Request) {})
	r, err := StartRecorder(t.Context(), p.admin, 5)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "round-02.trace")
	require.NoError(t, r.Take(t.Context(), name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "go 1.26 trace", string(text))
	s := golden.Cases(t, "testdata/take.golden")
	s.Replace(name, "FILE")
	s.Error(t, "no folder", r.Take(t.Context(), filepath.Join(name, "x")))

	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.Take(over, name), context.Canceled)
	require.NoError(t, r.Stop(over), "Stop works with an ended context")
	assert.True(t, p.askedFor("/debug/trace/stop"))
}

func TestRecorderThatAnswersErrors(t *testing.T) {
	p := newProcess(t)
	s := golden.Cases(t, "testdata/recorder.golden")
	s.Replace(p.admin.Address, "ADDRESS")
	_, err := StartRecorder(t.Context(), p.admin, 5)
	s.Error(t, "start", err)
	for _, path := range []string{"snapshot", "stop"} {
		p.answer("/debug/trace/"+path, refuse)
	}
	r := &Recorder{p.admin}
	s.Error(t, "take", r.Take(t.Context(), "x"))
	s.Error(t, "stop", r.Stop(t.Context()))
	assert.NoFileExists(t, "x")
}
