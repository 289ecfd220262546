package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Judge judges a run by the checked-in limits, and sets the verdict and the reasons of r. The page
// of a run, the index and prony check all call it, so they agree. Its verdict is never stored: a
// changed limit applies to data published before. Judge must be called once for each result that
// was read.
func Judge(limits *gate.Baselines, r *result.Result) gate.Report {
	judged := gate.Check(limits, r)
	r.Verdict, r.Reasons = judged.Verdict, judged.Reasons
	return judged
}

// Stored is the content of a folder of results. Exactly one of the run, the soak, the serial budget
// and the comparison is set.
type Stored struct {
	Run        *result.Result
	Soak       *result.Soak
	Serial     *result.Serial
	Comparison *result.Comparison
	// Judged is the judgement by the checked-in limits. Soaks and comparisons keep their stored
	// verdict, because their limits are in the scenario or the command that measured them. A serial
	// budget has no limit, so it passes.
	Judged gate.Report
}

// Open reads the result in a folder, without its histograms, and judges it. If the folder has no
// result, the error is fs.ErrNotExist.
func Open(limits *gate.Baselines, dir string) (*Stored, error) {
	s := &Stored{}
	var err error
	switch file := resultFile(dir); file {
	case result.SoakFile:
		if s.Soak, err = result.ReadSoak(dir); err == nil {
			s.Judged = gate.Report{Scenario: s.Soak.Scenario, Verdict: s.Soak.Verdict, Reasons: soakReasons(s.Soak), Warnings: s.Soak.Warnings}
		}
	case result.SerialFile:
		if s.Serial, err = result.ReadSerial(dir); err == nil {
			s.Judged = gate.Report{Scenario: serialName, Verdict: result.Pass, Warnings: []string{"a serial budget has no limits, so nothing was judged"}}
		}
	case result.ComparisonFile:
		if s.Comparison, err = result.ReadComparison(dir); err == nil {
			c := s.Comparison
			s.Judged = gate.Report{Scenario: c.Scenario, Verdict: c.Verdict, Reasons: c.Reasons, Warnings: c.Warnings}
		}
	default:
		if s.Run, err = readRun(dir); err == nil {
			s.Judged = Judge(limits, s.Run)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// readRun reads a run. It omits the histograms, except for an incomplete run, whose figures need
// them.
func readRun(dir string) (*result.Result, error) {
	if result.Incomplete(dir) {
		r, _, err := result.ReadStored(dir)
		return r, err
	}
	return result.ReadResult(filepath.Join(dir, result.ResultFile))
}

// resultFile returns the name of the document that identifies the kind of result in a folder.
func resultFile(dir string) string {
	for _, name := range []string{result.ComparisonFile, result.SoakFile, result.SerialFile} {
		if exists, err := result.Exists(dir, name); exists || err != nil {
			return name // reading the file returns the error again
		}
	}
	return result.ResultFile
}

// incomplete returns the reason why a judged run shows nothing about its build, or "".
//
// A run is complete if its verdict is pass, regressed, inconclusive or incorrect. An invalid run
// measured an unfit host or an unbalanced load. The limits of a misconfigured run are for another
// configuration. An incorrect run may have invalid rounds, because lost tasks are lost on any host
// and no figure is published. Only a run on other queue servers needs valid rounds then, because
// those with a balanced account keep their figures.
func incomplete(r *result.Result) string {
	invalid := slices.ContainsFunc(r.Rounds, func(round result.Round) bool { return round.Verdict == result.Invalid })
	if why := incompleteBy(r.Verdict, r.Reasons); why != "" {
		return why
	}
	if r.Verdict == result.Incorrect && r.Manifest.Scenario.Topology.Kind == scenario.ByProgram && invalid {
		return "some of its rounds are invalid, so the servers with a balanced account have no figures"
	}
	return ""
}

func incompleteBy(v result.Verdict, reasons []string) string {
	if v != result.Invalid && v != result.Misconfigured {
		return ""
	}
	return strings.Join(append([]string{fmt.Sprintf("its verdict is %s, which shows nothing about the build", v)}, reasons[:min(1, len(reasons))]...), ": ")
}

// Broken returns the sentences of the limits that a run broke.
func Broken(judged gate.Report) (sentences []string) {
	for _, f := range judged.Findings {
		if f.Judged && !f.OK {
			sentences = append(sentences, f.Sentence)
		}
	}
	return sentences
}

// Why returns in one line why a verdict is not pass: the first broken limit or else the first
// reason, and the number of further limits. It returns "" for a verdict without reasons.
func Why(judged gate.Report) string {
	broken := Broken(judged)
	sentence := cmp.Or(append(broken, judged.Reasons...)...)
	if len(broken) > 1 {
		sentence += fmt.Sprintf(" (and %s more)", render.Plural(len(broken)-1, "limit"))
	}
	return sentence
}
