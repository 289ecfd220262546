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

// renderSelfTest writes the page of a self-test again, from the data beside it and nothing else.
func renderSelfTest(c *cobra.Command, dir string) error {
	path := filepath.Join(dir, selfTestData)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the self-test: %w", err)
	}
	var test gate.SelfTest
	if err := json.Unmarshal(data, &test); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	if test.Version != gate.SelfTestVersion {
		return fmt.Errorf("read %s: it has version %d and this program reads %d: run the self-test again", path, test.Version, gate.SelfTestVersion)
	}
	page := filepath.Join(dir, selfTestPage)
	if err := result.WriteFile(page, []byte(report.SelfTestPage(&test))); err != nil {
		return err
	}
	say(c.ErrOrStderr(), "%s", page)
	return nil
}
