package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

func TestThePageShowsReferences(t *testing.T) {
	p, r := &doc.Document{}, &result.Result{References: []result.Reference{{
		Name: "cpu", Operation: "a loop",
		PerS: result.Metric{Median: 200, Low: 100, High: 300, N: 5}, CPUUs: result.Metric{Median: 7, Low: 6, High: 8, N: 5},
	}}}
	referencesSection(p, r)
	golden.Text(t, "testdata/golden/references.md", p.Markdown())
	assert.Contains(t, runPage(r, gate.Report{}, nil, nil, nil).Markdown(), p.Markdown())
	none := &doc.Document{}
	referencesSection(none, &result.Result{})
	assert.NotContains(t, none.Markdown(), "References")
}
