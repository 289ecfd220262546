package ci

import (
	"fmt"
	"strings"
)

// AnnotationsMax is the number of annotations of one kind that GitHub shows for a step. It silently
// drops further ones.
const AnnotationsMax = 10

// Annotations returns the workflow commands that show failures as errors, and undecided or skipped
// metrics as warnings: at most AnnotationsMax, errors first. If there are more, the last one has
// the number of omitted ones.
func Annotations(all []Judgement) []string {
	var failed, unclear []string
	for _, j := range all {
		title := fmt.Sprintf("prony %s: %s: %s", j.Kind, j.Scenario, j.Verdict)
		for _, c := range j.Cases {
			switch c.Outcome {
			case Failed:
				failed = append(failed, command("error", title, c.Sentence))
			case Unclear:
				unclear = append(unclear, command("warning", title, c.Sentence))
			}
		}
		for _, reason := range j.Reasons {
			if j.Verdict.ExitCode() != 0 && !j.Neutral {
				failed = append(failed, command("error", title, reason))
			} else {
				unclear = append(unclear, command("warning", title, reason))
			}
		}
	}
	lines := append(failed, unclear...)
	if left := len(lines) - (AnnotationsMax - 1); len(lines) > AnnotationsMax {
		lines = append(lines[:AnnotationsMax-1], command("warning", "prony", fmt.Sprintf("%d more are in the step's summary", left)))
	}
	return lines
}

// command returns a workflow command on one line, with the escaping of the GitHub runner.
func command(level, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s", level, property.Replace(title), data.Replace(text))
}
