package main

import (
	"path/filepath"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

const (
	selfTestData = "selftest.json"
	selfTestPage = "selftest.md"
)

// writeSelfTest writes the data, the page and the plot of a self-test to a folder, and returns the
// path of the page.
func writeSelfTest(dir string, test *gate.SelfTest, data []byte) (page string, err error) {
	if err := result.WriteFile(filepath.Join(dir, selfTestData), data); err != nil {
		return "", err
	}
	if plot, err := report.SelfTestPlot(test); err == nil { // a bank without a duet has no plot
		if err := result.WriteFile(filepath.Join(dir, report.SelfTestPlotFile), plot); err != nil {
			return "", err
		}
	}
	page = filepath.Join(dir, selfTestPage)
	return page, result.WriteFile(page, []byte(report.SelfTestPage(test)))
}
