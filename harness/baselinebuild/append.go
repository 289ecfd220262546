package baselinebuild

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/result"
)

// Append adds a build at the end of the file at path and returns the resulting file. It preserves
// every byte of the existing text and replaces the file atomically. Append fails, and does not
// change the file, if the file is invalid or would become invalid by the new build. Two processes
// must not append simultaneously, because one of the two builds may be lost.
func Append(path string, b Build) (*File, error) {
	if _, err := Read(path); err != nil {
		return nil, err
	}
	for _, r := range b.Ratios {
		if !InRange(r.Value) {
			return nil, fmt.Errorf("append a baseline build to %s: %s of %s is %v; a ratio is from %v to %v", path, r.Metric, r.Scenario, r.Value, RatioMin, RatioMax)
		}
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("append a baseline build: %w", err)
	}
	if !bytes.HasSuffix(src, []byte("\n")) {
		src = append(src, '\n')
	}
	text := append(append(src, '\n'), block(b)...)
	f, err := parse(path, text)
	if err != nil {
		return nil, fmt.Errorf("append a baseline build to %s: it could not be read again: %w", path, err)
	}
	return f, result.WriteFile(path, text)
}

func block(b Build) []byte {
	file := hclwrite.NewEmptyFile()
	body := file.Body().AppendNewBlock("build", []string{b.Commit}).Body()
	body.SetAttributeValue("date", cty.StringVal(b.Date))
	body.SetAttributeValue("because", cty.StringVal(b.Because))
	var ratios *hclwrite.Body
	for i, r := range b.Ratios {
		if i == 0 || b.Ratios[i-1].Scenario != r.Scenario {
			ratios = body.AppendNewBlock("ratio", []string{r.Scenario}).Body()
		}
		ratios.SetAttributeValue(r.Metric, cty.MustParseNumberVal(strconv.FormatFloat(r.Value, 'f', -1, 64)))
	}
	if b.AcceptCreep != "" {
		body.SetAttributeValue("accept_creep", cty.StringVal(b.AcceptCreep))
	}
	return hclwrite.Format(file.Bytes())
}

// Round returns a ratio rounded to the five significant digits that a file stores.
func Round(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 4, 64), 64)
	return v
}
