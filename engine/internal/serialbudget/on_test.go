//go:build serialbudget

package serialbudget

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/compute"
)

func put(query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	Put(w, httptest.NewRequest(http.MethodPut, "/debug/serial-budget"+query, nil))
	return w
}

func TestSerialBudgetIsSetInSteps(t *testing.T) {
	t.Cleanup(func() { steps.Store(0) })
	assert.Equal(t, compute.Steps(0), Work(), "a new server does no work")
	for _, work := range []time.Duration{0, 50, 1_500, time.Millisecond} {
		w := put("?work=" + work.String())
		require.Equal(t, http.StatusOK, w.Code)
		var got setting
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		assert.Positive(t, got.NsPerStep)
		assert.InDelta(t, float64(work), got.WorkNs, got.NsPerStep, "accurate to a step")
		assert.InDelta(t, got.WorkNs, float64(got.Steps)*got.NsPerStep, 1e-6)
		assert.Equal(t, compute.Steps(int(got.Steps)), Work(), "the new work applies")
	}
}

func TestSerialBudgetThatIsRefused(t *testing.T) {
	for _, query := range []string{"", "?work=", "?work=5", "?work=-1ns", "?work=10001us", "?work=few"} {
		w := put(query)
		assert.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Contains(t, w.Body.String(), "use a duration from 0s to 10ms", query)
	}
}
