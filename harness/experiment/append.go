package experiment

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/result"
)

// Append adds an experiment to the end of the ledger at path. It creates the file if it does not
// exist. The text of earlier experiments and comments remains unchanged. The file is replaced
// atomically. Append returns an error and leaves the file unchanged if the ledger is invalid, if
// the ledger already contains an experiment with the same name, or if the new experiment is
// invalid. Two processes must not append at the same time: one of the two experiments might be
// lost.
func Append(path string, e Experiment) error {
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("append an experiment: %w", err)
	}
	if err := checkNew(path, src, e.Name); err != nil {
		return err
	}
	text, err := appended(path, src, e)
	if err != nil {
		return err
	}
	if _, err := parse(path, text); err != nil {
		return fmt.Errorf("append experiment %q to %s: the result would be invalid: %w", e.Name, path, err)
	}
	return result.WriteFile(path, text)
}

// CheckNew returns an error if Append would reject an experiment with this name in the ledger at
// path. Callers use it before they measure.
func CheckNew(path, name string) error {
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the experiments: %w", err)
	}
	return checkNew(path, src, name)
}

func checkNew(path string, src []byte, name string) error {
	if problem := checkName(name); problem != "" {
		return fmt.Errorf("%q is not a valid experiment name: %s", name, problem)
	}
	all, err := parse(path, src)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e Experiment) bool { return e.Name == name }) {
		return fmt.Errorf("%s has an experiment %q: give this one another name", path, name)
	}
	return nil
}

func appended(path string, src []byte, e Experiment) ([]byte, error) {
	file, problems := hclwrite.ParseConfig(src, path, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, fmt.Errorf("append an experiment: %w", problems)
	}
	body := file.Body()
	if len(src) > 0 {
		body.AppendNewline()
	}
	b := body.AppendNewBlock("experiment", []string{e.Name}).Body()
	set(b, "named_by", e.NamedBy)
	set(b, "hypothesis", e.Hypothesis)
	set(b, "change", e.Change)
	set(b, "file", e.File)
	set(b, "code", e.Code)
	set(b, "effect", e.Effect)
	set(b, "cost", e.Cost)
	set(b, "measured", e.Measured)
	b.SetAttributeValue("kept", cty.BoolVal(e.Kept))
	set(b, "kept_for", e.KeptFor)
	set(b, "note", e.Note)
	if e.Measurement != nil {
		b.AppendNewline()
		setMeasurement(b.AppendNewBlock("ratchet", nil).Body(), e.Measurement)
	}
	return hclwrite.Format(file.Bytes()), nil
}

func setMeasurement(b *hclwrite.Body, m *Measurement) {
	set(b, "started", m.Started.UTC().Format(time.RFC3339))
	set(b, "base", m.Base)
	set(b, "commit", m.Commit)
	if m.Dirty {
		b.SetAttributeValue("dirty", cty.True)
	}
	set(b, "options", m.Options)
	set(b, "scenario", m.Scenario)
	set(b, "durability", m.Durability)
	set(b, "command", m.Command)
	set(b, "host", m.Host)
	set(b, "go", m.Go)
	number(b, "seconds", m.Seconds)
	b.SetAttributeValue("generations", cty.NumberIntVal(int64(m.Generations)))
	b.SetAttributeValue("points", cty.NumberIntVal(int64(m.Points)))
	set(b, "tests", m.Tests)
	set(b, "disqualified", m.Disqualified)
	if m.MoreWorse > 0 {
		b.SetAttributeValue("more_worse", cty.NumberIntVal(int64(m.MoreWorse)))
	}
	if m.Score != nil {
		b.AppendNewline()
		setRatio(b.AppendNewBlock("score", nil).Body(), *m.Score)
	}
	for _, f := range m.Figures {
		b.AppendNewline()
		of := b.AppendNewBlock("figure", []string{f.Metric}).Body()
		set(of, "point", f.Point)
		set(of, "unit", f.Unit)
		number(of, "base", f.Base)
		number(of, "change", f.Change)
		setRatio(of, f.Ratio)
		if f.Worse {
			of.SetAttributeValue("worse", cty.True)
		}
	}
}

func setRatio(b *hclwrite.Body, r Ratio) {
	number(b, "ratio", r.Ratio)
	number(b, "low", r.Low)
	number(b, "high", r.High)
}

// set sets an attribute to a text. The text is converted to one line and truncated to textMax
// bytes. If it is empty, set omits the attribute.
func set(b *hclwrite.Body, name, text string) {
	if text = OneLine(text); text != "" {
		b.SetAttributeValue(name, cty.StringVal(text))
	}
}

// number sets an attribute to v, rounded to four significant digits.
func number(b *hclwrite.Body, name string, v float64) {
	n, err := cty.ParseNumberVal(rounded(v))
	if err != nil {
		n = cty.NumberFloatVal(0) // NaN and infinities become 0, which Load rejects as a ratio
	}
	b.SetAttributeValue(name, n)
}

func rounded(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// OneLine converts a text to the form that an experiment accepts: valid UTF-8 without control
// characters, on one line, and at most textMax bytes. A text that was truncated ends with "...".
func OneLine(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	const mark = "..."
	if len(text) <= textMax {
		return text
	}
	end := textMax - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
