package baselinebuild

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const (
	bytesMax = 1 << 20 // of a file: about a thousand builds
	// TextMax is the maximum length of each text, in bytes.
	TextMax = 1000
)

var (
	fileNames  = hclfile.Names{Blocks: []string{"build"}}
	buildBlock = hclfile.Inner{
		Names: hclfile.Names{Attributes: []string{"date", "because", "accept_creep"}, Blocks: []string{"ratio"}},
		Label: "commit", Example: `build "COMMIT" { date = "2026-11-28"  because = "..." }`, Required: true,
	}
	ratioBlock = hclfile.Inner{
		Names: hclfile.Names{Any: true},
		Label: "scenario", Example: `ratio "SCENARIO" { cycles_per_s = 1.012 }`,
	}
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Read reads the file at path. Its error is a *hclfile.Diagnostics with every problem found in the
// file.
func Read(path string) (*File, error) {
	r := newReader()
	return read(r, r.File(path, fileNames))
}

// parse does what Read does, for a text in memory.
func parse(name string, src []byte) (*File, error) {
	r := newReader()
	return read(r, r.Source(name, src, fileNames))
}

// newReader returns a reader whose maximum line length suffices for a text of TextMax bytes with
// its escapes.
func newReader() *hclfile.Reader {
	return &hclfile.Reader{BytesMax: bytesMax, LineBytesMax: 3 * TextMax}
}

func read(r *hclfile.Reader, root *hclfile.Block) (*File, error) {
	f := &File{}
	if root != nil {
		for _, b := range root.Blocks("build", buildBlock) {
			before := b.Problems()
			f.Builds = append(f.Builds, readBuild(b, f.Builds))
			if b.Problems() == before {
				f.checkCreep(b)
			}
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// readBuild reads build "COMMIT" { ... }, which follows the earlier builds.
func readBuild(b *hclfile.Block, earlier []Build) Build {
	build := Build{
		Commit: b.Label(), Date: readDate(b), Because: readText(b, "because", true), Ratios: readRatios(b), AcceptCreep: readText(b, "accept_creep", false),
	}
	if !commitID.MatchString(build.Commit) {
		b.LabelProblem(fmt.Sprintf("%q is not the full id of a commit", build.Commit), "write all 40 digits, as `git rev-parse REVISION` prints them")
	}
	if len(earlier) == 0 {
		if len(build.Ratios) > 0 {
			b.Problem("the first build has ratios, but there is no previous build", "remove them")
		}
		return build
	}
	last := earlier[len(earlier)-1]
	switch {
	case build.Commit == last.Commit:
		b.LabelProblem("the previous build has the same commit", "keep one of the two")
	case !b.HasBlock("ratio"):
		b.Problem(fmt.Sprintf("%s has no ratios to the previous build", b), "measure them by `prony baseline move`, which writes the block")
	}
	if build.Date != "" && build.Date < last.Date {
		b.AttrProblem("date", fmt.Sprintf("date is %s, but the previous build has %s", build.Date, last.Date), "sort the builds by date, oldest first")
	}
	return build
}

func readText(b *hclfile.Block, name string, required bool) string {
	return b.Text(name, hclfile.TextSpec{MaxBytes: TextMax, Required: required, Example: "..."})
}

func readDate(b *hclfile.Block) string {
	text := readText(b, "date", true)
	if text == "" {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		b.AttrProblem("date", fmt.Sprintf("date is %q, which is not a date", text), `write it as "2026-11-28"`)
		return ""
	}
	return text
}

func readRatios(build *hclfile.Block) (all []Ratio) {
	first := map[string]string{}
	for _, b := range build.Blocks("ratio", ratioBlock) {
		scenario := b.Label()
		if !hclfile.IsName(scenario) {
			b.LabelProblem(fmt.Sprintf("%q is not the name of a scenario", scenario), hclfile.NameRule)
		}
		if where, twice := first[scenario]; twice {
			b.LabelProblem(fmt.Sprintf("scenario %q has ratios twice", scenario), "the first are at "+where+"; keep one of the two")
		}
		first[scenario] = b.Where()
		all = append(all, readMetrics(b, scenario)...)
	}
	return all
}

func readMetrics(b *hclfile.Block, scenario string) (all []Ratio) {
	for _, kind := range b.Kinds() {
		b.Problem(fmt.Sprintf("%s has a block %q, but ratios are attributes", b, kind), "write "+ratioBlock.Example)
	}
	names := b.Attributes()
	if len(names) == 0 {
		b.Problem(fmt.Sprintf("%s is empty", b), "write "+ratioBlock.Example)
	}
	for _, name := range names {
		if place(name) < 0 {
			b.AttrProblem(name, fmt.Sprintf("unknown metric %q", name), hclfile.Suggest(name, Metrics()))
			continue
		}
		v, ok := b.Number(name, hclfile.NumberSpec{Example: "1.012"})
		switch {
		case !ok:
		case !InRange(v):
			b.AttrProblem(name, fmt.Sprintf("%s is %v; a ratio is from %v to %v", name, v, RatioMin, RatioMax), "")
		default:
			all = append(all, Ratio{Scenario: scenario, Metric: name, Value: v})
		}
	}
	slices.SortStableFunc(all, func(a, b Ratio) int { return place(a.Metric) - place(b.Metric) })
	return all
}

// checkCreep reports a fall below CreepShare by the last build without accept_creep, and
// accept_creep without a fall.
func (f *File) checkCreep(b *hclfile.Block) {
	fallen := f.Fallen()
	switch accepted := f.Current().AcceptCreep != ""; {
	case len(fallen) > 0 && !accepted:
		var names []string
		for _, p := range fallen {
			names = append(names, fmt.Sprintf("%s of %s to %.3f", p.Metric, p.Scenario, p.Share))
		}
		b.Problem(fmt.Sprintf("%s takes products below %v of their best: %s", b, CreepShare, strings.Join(names, ", ")),
			`undo the slower change, or add the reason for accepting it: accept_creep = "..."`)
	case len(fallen) == 0 && accepted:
		b.AttrProblem("accept_creep", fmt.Sprintf("no product falls below %v of its best: accept_creep accepts nothing", CreepShare), "remove accept_creep")
	}
}

// CheckText returns the reason why a file cannot store a text, or nil.
func CheckText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("is empty")
	case len(text) > TextMax:
		return fmt.Errorf("is longer than %d bytes", TextMax)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("is not one line of printable text")
	}
	return nil
}
