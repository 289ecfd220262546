package ci

import (
	"encoding/xml"
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns the judgements as a JUnit report: a suite for each, with a test case for each
// metric, and one for the verdict. The latter fails unless the verdict is pass, so that the report
// of a failed judgement is never green. A metric that was not judged, or has too little data, is
// skipped.
func JUnit(all []Judgement) ([]byte, error) {
	var suites junitSuites
	for _, j := range all {
		s := junitSuite{Name: "prony " + j.Kind + " " + j.Scenario}
		verdict := junitCase{Name: "verdict", Class: s.Name, Output: j.Text}
		if j.Verdict != result.Pass {
			verdict.Failure = &junitMessage{Message: string(j.Verdict), Text: j.Text}
			verdict.Output = ""
		}
		s.Cases = append(s.Cases, verdict)
		for _, c := range j.Cases {
			one := junitCase{Name: c.Name, Class: s.Name}
			message := &junitMessage{Message: c.Sentence}
			switch c.Outcome {
			case Failed:
				one.Failure = message
			case Unclear, Skipped:
				one.Skipped = message
			default:
				one.Output = c.Sentence
			}
			s.Cases = append(s.Cases, one)
		}
		s.Tests = len(s.Cases)
		for _, c := range s.Cases {
			if c.Failure != nil {
				s.Failures++
			}
			if c.Skipped != nil {
				s.Skipped++
			}
		}
		suites.Suites = append(suites.Suites, s)
	}
	data, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the JUnit report: %w", err)
	}
	return append([]byte(xml.Header), append(data, '\n')...), nil
}
