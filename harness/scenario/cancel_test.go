package scenario

import (
	"strings"
	"testing"

	"github.com/pronybench/prony/engine/golden"
)

func TestProblemsOfCancel(t *testing.T) {
	texts := golden.Cases(t, "testdata/cancel.golden")
	for _, text := range []string{
		"cancel = 1", "cancel = 1.5", "cancel = -1", `cancel = "some"`, "cancel = 0.1\n    key = 0.1", "cancel = 0.1\n    reads = 0.1",
	} {
		_, err := parse("a.hcl", []byte(readingScenario(text)), nil)
		texts.Error(t, strings.ReplaceAll(text, "\n   ", ","), err)
	}
	_, err := parse("a.hcl", []byte(strings.ReplaceAll(readingScenario("cancel = 0.1"), `"stream"`, `"rest"`)), nil)
	texts.Error(t, "rest", err)
}
