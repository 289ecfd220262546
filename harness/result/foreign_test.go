package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func TestMeanForeign(t *testing.T) {
	means := result.MeanForeign([]*result.Signals{
		{ForeignProcesses: []result.ForeignProcess{{Name: "go", CPUPercent: 40}, {Name: "vim", CPUPercent: 2}}},
		nil,
		{ForeignProcesses: []result.ForeignProcess{{Name: "chrome", CPUPercent: 30}, {Name: "go", CPUPercent: 20}}},
		{},
	})
	assert.Equal(t, "go 15 %, chrome 7.5 %", result.ForeignText(means))
	assert.Empty(t, result.MeanForeign(nil))
	assert.Empty(t, result.ForeignText(nil))
}
