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

// ProposeCarried returns what a run observed of the limits that its scenario carried, each with the place that its block had then: of a
// scenario whose file is elsewhere, or does not have it any more.
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

// ProposeOwn returns the text of the file of scenario s in which each limit block of s says what r, a run of s, observed, and what has
// changed in it: as Propose does for a baseline. s was read from src, or from a text that ProposeOwn made src of. A limit that stands in
// another file, which s includes, is in the changes with its place, and that file stays as it is: other scenarios may include it too.
func ProposeOwn(src []byte, s *scenario.Scenario, r *result.Result) (text []byte, changes []Change, err error) {
	limits := make([]Limit, len(s.Limits))
	for i, l := range s.Limits {
		limits[i], _ = limitOf(l) // one that can't be judged was reported as the file was read
	}
	text = src
	next := 0 // of the limit blocks in the file of s itself
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

// limitBlock returns a limit block of a scenario, counted from 0, or nil.
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

// observedSettings are the attributes of a limit that say what a run observed, or why it has no figure.
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
