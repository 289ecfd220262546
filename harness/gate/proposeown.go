package gate

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ProposeCarried returns a run's observations for the limits that its scenario contained at the
// time of the run, each with the place of its block at that time. It is for scenarios whose file is
// elsewhere or no longer defines them.
func ProposeCarried(r *result.Result) (changes []Change) {
	own, _ := carried(r)
	var limits []Limit
	for _, l := range own {
		limits = append(limits, l.Limit)
	}
	for _, l := range own {
		change, _, _ := proposal(l.Limit, limits, r)
		if change.Where = l.where; l.Value != 0 && !l.OfBaseline && change.From != change.To {
			changes = append(changes, change)
		}
	}
	return changes
}

// ProposeOwn updates src, the text of the file of scenario s, so that each limit block states what
// r observed. r is a run of s. It returns the new text and the changes, as Propose does for a
// baseline. s was read from src or from a text that ProposeOwn derived from src. For a limit in a
// file that s includes, it returns the change with its place but does not edit that file, because
// other scenarios may include the same file.
func ProposeOwn(src []byte, s *scenario.Scenario, r *result.Result) (text []byte, changes []Change, err error) {
	limits := make([]Limit, len(s.Limits))
	for i, l := range s.Limits {
		limits[i], _ = limitOf(l) // errors were reported when the file was read
	}
	text = src
	next := 0 // index of the next limit block in the file of s
	for i, l := range limits {
		change, value, unobserved := proposal(l, limits, r)
		nth := -1
		if strings.HasPrefix(s.Limits[i].Where, s.File+":") {
			nth = next
			next++
		}
		switch {
		case l.Value == 0 || l.OfBaseline || change.From == change.To:
			continue
		case nth < 0:
			change.Where = s.Limits[i].Where
		default:
			find := func(body *hclsyntax.Body) *hclsyntax.Block { return limitBlock(body, s.Name, nth) }
			if text, err = hclfile.Edit(text, s.File, find, "because", observedSettings(change, value, unobserved, r)); err != nil {
				return nil, nil, err
			}
		}
		changes = append(changes, change)
	}
	return text, changes, nil
}

func limitBlock(body *hclsyntax.Body, name string, nth int) *hclsyntax.Block {
	for _, s := range body.Blocks {
		if s.Type != "scenario" || !slices.Equal(s.Labels, []string{name}) {
			continue
		}
		for _, block := range s.Body.Blocks {
			if block.Type != limitName {
				continue
			}
			if nth--; nth < 0 {
				return block
			}
		}
	}
	return nil
}

// observedSettings returns the attributes of a limit that state a run's observation, or why it has
// no figure.
func observedSettings(change Change, value float64, unobserved error, r *result.Result) []hclfile.Setting {
	quoted := func(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }
	if unobserved != nil {
		return []hclfile.Setting{{Name: "observed"}, {Name: "on"}, {Name: "unobserved", Value: quoted(change.To)}}
	}
	return []hclfile.Setting{
		{Name: "observed", Value: digits(value)},
		{Name: "on", Value: quoted(machineOf(r) + ", " + r.Started.UTC().Format(time.DateOnly))},
		{Name: "unobserved"},
	}
}
