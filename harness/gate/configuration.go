package gate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const configurationName = "configuration"

var configurationForm = regexp.MustCompile("^[0-9a-f]{12}$")

// readConfiguration reads configuration = "HASH" of a baseline, or returns "" without one.
func readConfiguration(b *hclfile.Block) string {
	hash := b.Text(configurationName, hclfile.TextSpec{MaxBytes: 64, Example: "0123456789ab"})
	if hash != "" && !configurationForm.MatchString(hash) {
		b.AttrProblem(configurationName, fmt.Sprintf("configuration is %q, which is not 12 hexadecimal digits", hash),
			"write it with prony baseline propose --write scenarios/FILE.hcl")
	}
	return hash
}

// Misfits returns a sentence for each scenario whose configuration differs from its baseline's.
// Runs of such scenarios cannot be judged.
func (b *Baselines) Misfits(scenarios []*scenario.Scenario) (misfits []string) {
	for _, s := range scenarios {
		baseline, _ := b.For(s.Name)
		if misfit := baseline.misfit(s); misfit != "" {
			misfits = append(misfits, misfit)
		}
	}
	return misfits
}

// misfit explains how the scenario's configuration differs from the baseline's, or returns "" if it
// does not.
func (b Baseline) misfit(s *scenario.Scenario) string {
	own := s.Configuration()
	if b.Configuration == "" || b.Configuration == own {
		return ""
	}
	why := "the scenario's file has changed since"
	var given []string
	for _, v := range s.Variables {
		if v.Given {
			given = append(given, fmt.Sprintf("--var %s=%s", v.Name, v.Value))
		}
	}
	if len(given) > 0 {
		why = "the run was given " + strings.Join(given, " ") + ", or the scenario's file has changed since"
	}
	return fmt.Sprintf("the limits of %q are for configuration %s, but the run has %s: %s; run the original scenario, or, "+
		"if the limits suit the new configuration, run prony baseline propose --write scenarios/FILE.hcl", b.Scenario, b.Configuration, own, why)
}

// ProposeConfiguration updates src, the text of a file of baselines, so that baseline b names the
// configuration of s. It returns the new text and the changes. It fails as Propose does.
func ProposeConfiguration(src []byte, file string, b Baseline, s *scenario.Scenario) (text []byte, changes []Change, err error) {
	hash := s.Configuration()
	if b.Configuration == hash {
		return src, nil, nil
	}
	changes = []Change{{Limit: configurationName, From: b.Configuration, To: hash}}
	if b.Configuration == "" { // hclwrite would put a new attribute behind the blocks
		begins := regexp.MustCompile(`(?m)^baseline "` + regexp.QuoteMeta(b.Scenario) + `" \{[ \t]*\n`).FindIndex(src)
		if begins == nil {
			return nil, nil, fmt.Errorf("%s has no baseline %q that opens on a separate line", file, b.Scenario)
		}
		line := fmt.Sprintf("  %s = %q\n\n", configurationName, hash)
		return []byte(string(src[:begins[1]]) + line + string(src[begins[1]:])), changes, nil
	}
	parsed, problems := hclwrite.ParseConfig(src, file, hcl.InitialPos)
	if problems.HasErrors() {
		return nil, nil, fmt.Errorf("read %s, which must have one attribute on a line: %w", file, problems)
	}
	baseline := parsed.Body().FirstMatchingBlock("baseline", []string{b.Scenario})
	if baseline == nil {
		return nil, nil, fmt.Errorf("%s has no baseline %q", file, b.Scenario)
	}
	baseline.Body().SetAttributeValue(configurationName, cty.StringVal(hash))
	return hclwrite.Format(parsed.Bytes()), changes, nil
}
