package node

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/internal/serialbudget"
)

// An ordinary build cannot set the work of no-op requests.
func TestSerialBudgetIsOfItsOwnBuild(t *testing.T) {
	status, _ := newAdminTest(t).ask(http.MethodPut, "/debug/serial-budget?work=0s")
	if serialbudget.Enabled {
		assert.Equal(t, http.StatusOK, status)
	} else {
		assert.Equal(t, http.StatusNotFound, status)
	}
}
