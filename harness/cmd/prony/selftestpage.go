package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

const (
	selfTestData = "selftest.json"
	selfTestPage = "selftest.md"
)

// renderSelfTest writes the page of a self-test again, from the data beside it and nothing else. A self-test of an earlier version
// keeps the page that it has.
func renderSelfTest(c *cobra.Command, dir string) error {
	path := filepath.Join(dir, selfTestData)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the self-test: %w", err)
	}
	var versioned struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &versioned); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	switch {
	case versioned.Version > gate.SelfTestVersion:
		return fmt.Errorf("read %s: it has version %d and this program reads %d: use a newer prony", path, versioned.Version, gate.SelfTestVersion)
	case versioned.Version < gate.SelfTestVersion:
		say(c.ErrOrStderr(), "%s has version %d and this program writes pages of version %d: its page stays as it is until the self-test is run again",
			path, versioned.Version, gate.SelfTestVersion)
		return nil
	}
	var test gate.SelfTest
	if err := json.Unmarshal(data, &test); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	page, err := writeSelfTestPage(dir, &test)
	if err != nil {
		return err
	}
	say(c.ErrOrStderr(), "%s", page)
	return nil
}

// writeSelfTestPage writes the page of a self-test and its plot, and returns the path of the page.
func writeSelfTestPage(dir string, test *gate.SelfTest) (string, error) {
	if plot, err := report.SelfTestPlot(test); err == nil { // a bank with no duet has nothing to plot
		if err := result.WriteFile(filepath.Join(dir, report.SelfTestPlotFile), plot); err != nil {
			return "", err
		}
	}
	page := filepath.Join(dir, selfTestPage)
	return page, result.WriteFile(page, []byte(report.SelfTestPage(test)))
}
