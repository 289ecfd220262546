package htmlreport_test

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/htmlreport"
	"github.com/pronybench/prony/harness/result"
)

const plot = `<?xml version="1.0"?>
<svg width="540pt" height="302pt" viewBox="0 0 540 302" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<g transform="scale(1, -1)"><path d="M0,0L540,0Z" style="fill:#FFFFFF" /><text x="1" y="2" style="font-family:Arial;font-size:13px;fill:#333333">a &lt; b</text></g>
</svg>`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func document(t *testing.T, files map[string]string) string {
	t.Helper()
	text, err := htmlreport.Document(folder(t, files))
	require.NoError(t, err)
	return string(text)
}

// refused returns the error of a folder that Document rejects.
func refused(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := folder(t, files)
	_, err := htmlreport.Document(dir)
	require.Error(t, err)
	return strings.ReplaceAll(err.Error(), dir, "FOLDER")
}

// has fails if a document does not contain a text. It does not print the document.
func has(t *testing.T, text, want string) {
	t.Helper()
	assert.True(t, strings.Contains(text, want), want)
}

func hasNot(t *testing.T, text, unwanted string) {
	t.Helper()
	assert.False(t, strings.Contains(text, unwanted), unwanted)
}

// articlesOf returns the ids of the articles, in their order.
func articlesOf(text string) (ids []string) {
	for _, m := range regexp.MustCompile(`<article id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// A link to a folder of data leads to the rendered page of the data.
func TestLinksToDataLeadToTheirPage(t *testing.T) {
	text := document(t, map[string]string{
		"a.md": "# A\n\n[b](data/b#rounds), [c](data/c)\n", "scenarios/b.md": "# B\n\n## Rounds\n",
	})
	has(t, text, `<a href="#page/scenarios/b:rounds">b</a>`)
	hasNot(t, text, `#page/scenarios/c`)
}

func TestPagesStandInTheOrderOfTheIndex(t *testing.T) {
	files := map[string]string{
		"README.md":        "# All\n\n[Z](z.md), [B](scenarios/b.md)\n",
		"z.md":             "# Z\n",
		"a.md":             "no title\n",
		"scenarios/b.md":   "# B\n",
		"scenarios/a.md":   "# A\n",
		"data/x/README.md": "# Data\n",
		"pages/z.md":       "# Source {{ . }}\n",
		".git/x.md":        "# Hidden\n",
	}
	text := document(t, files)
	assert.Equal(t, []string{"page/README", "page/z", "page/scenarios/b", "page/a", "page/scenarios/a"}, articlesOf(text))
	has(t, text, "<title>All</title>")
	has(t, text, `tabindex="-1">a</h1>`) // a page without a title has its name
	has(t, text, "<h2>scenarios</h2>")
	has(t, text, `<a rel="prev" href="#page/z">Previous: Z</a>`)
	has(t, text, `<a rel="next" href="#page/a">Next: a</a>`)
	hasNot(t, text, "Source")
	again, err := htmlreport.Document(folder(t, files))
	require.NoError(t, err)
	assert.Equal(t, text, string(again), "the same pages yield the same bytes in any folder")
}

func TestLinksLeadIntoTheFile(t *testing.T) {
	text := document(t, map[string]string{
		"README.md": "# All\n\n[page](s/b.md) [heading](s/b.md#rounds-durability-none) [gone](s/b.md#none) [folder](s/) [data](data/x.json)\n" +
			"[self](#all) [web](https://example.org/?a=1&b=2) [bad](javascript:alert(1)) [rooted](//example.org/x) <https://example.net/>\n",
		"s/README.md": "# S\n",
		"s/b.md":      "# B\n\n## Rounds, durability `none`\n\n[up](../README.md)\n\n# Second\n",
	})
	for _, want := range []string{
		`<a href="#page/s/b">page</a>`, `<a href="#page/s/b:rounds-durability-none">heading</a>`, `<a href="#page/s/b">gone</a>`,
		`<a href="#page/s/README">folder</a>`, `data/x.json">data</span>`, `<a href="#page/README:all">self</a>`,
		`<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer">web</a>`, `<a href="#page/README">up</a>`,
		`<h2 id="page/s/b:rounds-durability-none">`, `<h2 id="page/s/b:second">Second</h2>`,
		`<a href="https://example.net/" rel="noopener noreferrer">https://example.net/</a>`,
	} {
		has(t, text, want)
	}
	hasNot(t, text, "javascript:")
	hasNot(t, text, `href="//`)
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(text, -1) {
		has(t, text, `id="`+m[1]+`"`)
	}
}

// Titles and labels are plain text without Markdown escapes.
func TestTitlesAreTheTextThatMarkdownStandsFor(t *testing.T) {
	text := document(t, map[string]string{"a.md": "# Under &lt;5 ms \\*all\\* `a&lt;b` &amp;lt;\n\n| a |\n|--:|\n| 1 |\n"})
	has(t, text, "<title>Under &lt;5 ms *all* a&amp;lt;b &amp;lt;</title>")
	hasNot(t, text, "Under &amp;lt;5")
	has(t, text, `aria-label="Table: `)
}

func TestNothingOfAPageIsRunOrFetched(t *testing.T) {
	text := document(t, map[string]string{
		"a.md": "# A <b>bold</b> & `<i>`\n\n<script>alert(1)</script>\n\nin <img src=x onerror=alert(2)> line <!-- unseen -->\n\n<!-- also\nunseen -->\n\n" +
			"![far](https://example.org/x.png)\n\n| <u>h</u> | n |\n|---|--:|\n| \"<td>\" | 1,234 |\n",
	})
	hasNot(t, text, "<script>alert")
	hasNot(t, text, "<img")
	hasNot(t, text, "unseen")
	has(t, text, "&lt;script&gt;alert(1)&lt;/script&gt;")
	has(t, text, "&lt;img src=x onerror=alert(2)&gt;")
	has(t, text, `<th scope="col">&lt;u&gt;h&lt;/u&gt;</th><th scope="col" class="n">n</th>`)
	has(t, text, `<td class="n">1,234</td>`)
	has(t, text, `aria-label="Table: A`)
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)
	require.Len(t, policy, 2)
	assert.True(t, strings.HasPrefix(policy[1], "default-src &#39;none&#39;;"), policy[1])
	assert.NotContains(t, policy[1], "unsafe")
	assert.Equal(t, 2, strings.Count(text, "<script>"), "only its own, with hashes in the policy")
	for _, pattern := range []string{`<[a-z]+[^>]*\s(?:src|srcset|action|style|on[a-z]+)=`, `url\(`, `@import`, `fetch\(`} {
		assert.Empty(t, regexp.MustCompile(pattern).FindAllString(text, -1))
	}
}

func TestPlotsStandInTheFile(t *testing.T) {
	text := document(t, map[string]string{"s/a.md": "# A\n\n![a \"plot\"](p.svg)\n", "s/p.svg": plot})
	has(t, text, `<figure><svg class="plot" role="img" aria-label="a &#34;plot&#34;" viewBox="0 0 540 302">`)
	has(t, text, `<path d="M0,0L540,0Z" fill="#FFFFFF" class="fill-ground"></path>`)
	has(t, text, `<text x="1" y="2" font-size="13px" fill="#333333" class="fill-ink">a &lt; b</text></g>`)
}

func TestWhatCanNotBeShownIsAnError(t *testing.T) {
	image := func(name, text string) map[string]string {
		return map[string]string{"a.md": "![x](" + name + ")\n", name: text}
	}
	in := func(shape string) string { return `<svg viewBox="0 0 1 1">` + shape + `</svg>` }
	s := golden.Cases(t, "testdata/errors.golden")
	for name, files := range map[string]map[string]string{
		"no page":               {"a.txt": ""},
		"no image":              {"a.md": "![x](none.svg)\n"},
		"outside":               {"a.md": "![x](../b.svg)\n"},
		"no SVG":                image("p.png", ""),
		"a script":              image("p.svg", in("<script>1</script>")),
		"an SVG within another": image("p.svg", in("<svg/>")),
		"a handler":             image("p.svg", in(`<path onclick="1"/>`)),
		"a fetched fill":        image("p.svg", in(`<path style="fill:url(http://x)"/>`)),
		"no viewBox":            image("p.svg", `<svg/>`),
		"empty":                 image("p.svg", ` `),
		"a document type":       image("p.svg", `<!DOCTYPE svg>`+in("")),
		"an open element":       image("p.svg", `<svg viewBox="0 0 1 1">`),
	} {
		s.Equal(t, name, refused(t, files))
	}
}

func TestPlotsWithDataAreCharts(t *testing.T) {
	data := func(name string) string {
		text, err := result.ReadFile(filepath.Join("..", "..", "..", "reports", "data", "steady", name))
		require.NoError(t, err)
		return string(text)
	}
	files := map[string]string{
		"s/steady.md":                 "# A\n\n![rate](steady-series-rate.svg)\n\n![other](other.svg)\n",
		"b.md":                        "# B\n\n![again](s/steady-series-rate.svg)\n",
		"s/steady-series-rate.svg":    plot,
		"s/other.svg":                 plot,
		"data/steady/result.json":     data("result.json"),
		"data/steady/histograms.json": data("histograms.json"),
	}
	text := document(t, files)
	const figure = `<figure data-chart="chart/steady-series-rate.svg">`
	assert.Equal(t, 2, strings.Count(text, figure))
	assert.Equal(t, 1, strings.Count(text, `<script type="application/json" id="chart/steady-series-rate.svg">{"title":"steady: cycles per second`))
	assert.Equal(t, 1, strings.Count(text, `type="application/json"`), "the file only has data of plots on pages")
	assert.Equal(t, 3, strings.Count(text, `<svg class="plot"`), "without scripts the plots stay")
	found := regexp.MustCompile(`type="application/json"[^>]*>([^<]*)</script>`).FindStringSubmatch(text)
	require.Len(t, found, 2)
	var chart struct{ Lines []struct{ X, Y []float64 } }
	require.NoError(t, json.Unmarshal([]byte(found[1]), &chart))
	require.NotEmpty(t, chart.Lines)
	assert.Len(t, chart.Lines[0].X, len(chart.Lines[0].Y))

	files["data/steady/result.json"] = "{"
	assert.Contains(t, refused(t, files), "corrupt")
}

// profiled returns the folder of a run with a page, and with a CPU profile of these stacks.
func profiled(t *testing.T, samples ...*pprof.Sample) string {
	t.Helper()
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1, Sample: samples,
	}
	for _, s := range samples {
		for _, l := range s.Location {
			if !slices.Contains(p.Location, l) {
				l.ID = uint64(len(p.Location) + 1)
				l.Line[0].Function.ID = l.ID
				p.Location, p.Function = append(p.Location, l), append(p.Function, l.Line[0].Function)
			}
		}
	}
	dir := folder(t, map[string]string{"report.md": "# Run\n", "profiles/README.md": "# no page\n"})
	file, err := os.Create(filepath.Join(dir, "profiles", "cpu.pb.gz"))
	require.NoError(t, err)
	require.NoError(t, p.Write(file))
	require.NoError(t, file.Close())
	require.NoError(t, result.WriteResult(filepath.Join(dir, result.ResultFile), &result.Result{
		Version: result.Version, Run: "r", Scenario: "one", Verdict: result.Pass,
		Points: []result.Point{{Number: 1, Name: "workers = 8"}},
		Profiles: []result.Profile{
			{Kind: "cpu", File: "profiles/cpu.pb.gz", Unit: "nanoseconds", Total: 3e9, Rounds: 2, Point: 1, Node: "n1", Top: []result.ProfileEntry{
				{Function: "example.org/shard.run[<x>]", Flat: 2e9, Cum: 3e9, Share: 0.667},
			}},
			{Kind: "mutex", File: "profiles/mutex.pb.gz", Unit: "nanoseconds"},
		},
	}))
	require.NoError(t, result.WriteFile(filepath.Join(dir, result.HistogramsFile), []byte(`{"version":4,"unit":"ns","rounds":[]}`)))
	return dir
}

func TestProfilesAreFlameGraphs(t *testing.T) {
	at := func(name string) *pprof.Location {
		return &pprof.Location{Line: []pprof.Line{{Function: &pprof.Function{Name: name}}}}
	}
	run, main := at("example.org/shard.run[<x>]"), at("main.main")
	sample := func(value int64, stack ...*pprof.Location) *pprof.Sample {
		return &pprof.Sample{Value: []int64{1, value}, Location: stack}
	}
	text, err := htmlreport.Document(profiled(t, sample(2e9, run, main), sample(1e9, main)))
	require.NoError(t, err)
	assert.Equal(t, []string{"page/report", "profiles/1"}, articlesOf(string(text)))
	has(t, string(text), `<h2 id="profiles/1:cpu-of-workers--8-n1">cpu of workers = 8, n1</h2>`)
	has(t, string(text), "3.00 s in all, of 2 rounds.")
	has(t, string(text), `<a href="#profiles/1">one: profiles</a>`)
	has(t, string(text), `{"title":"cpu of workers = 8, n1","unit":"nanoseconds","functions":["","main.main","shard.run[\u003cx\u003e]"],"calls":[0,3000000000,1,1,3000000000,1,2,2000000000,0]}`)
	has(t, string(text), `<td><code>shard.run[&lt;x&gt;]</code></td><td class="n">2.00 s</td><td class="n">66.7 %</td>`)
	hasNot(t, string(text), "mutex")

	published := folder(t, map[string]string{"README.md": "# All\n", "data/x": ""})
	require.NoError(t, os.Rename(profiled(t, sample(1, main)), filepath.Join(published, "data", "one")))
	text, err = htmlreport.Document(published)
	require.NoError(t, err)
	assert.Equal(t, []string{"page/README", "profiles/1"}, articlesOf(string(text)), "published data may have profiles")

	text, err = htmlreport.Document(profiled(t))
	require.NoError(t, err)
	assert.Equal(t, []string{"page/report"}, articlesOf(string(text)), "no graph without samples")
}

// The HTML of a page shows foreign text unchanged, in every element.
func TestForeignTextIsTheSameInHTML(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab 1.-+*_`~<>[]()#&;!|\\:/µ\"'=\n")), 0, 40, -1)
	shown := regexp.MustCompile(`<(h1|p|li|td)[^>]*>x(.*?)y</(?:h1|p|li|td)>`)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		d, escaped := &doc.Document{}, "x "+doc.Escape(s)+" y"
		d.Heading(1, "%s", escaped)
		d.Paragraph("%s", escaped)
		d.List([]string{escaped})
		d.Table([]string{"text", "code"}, [][]string{{escaped, "x " + doc.Code(s) + " y"}})
		require.NoError(t, os.WriteFile(filepath.Join(dir, "page.md"), []byte(d.Markdown()), 0o600))
		page, err := htmlreport.Document(dir)
		require.NoError(t, err)
		_, article, _ := strings.Cut(string(page), "<article")
		found := shown.FindAllStringSubmatch(article, -1)
		require.Len(t, found, 5)
		for _, f := range found {
			of := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(f[2]), "<code>"), "</code>")
			require.NotContains(t, of, "<")
			require.Equal(t, strings.Fields(s), strings.Fields(html.UnescapeString(of)), f[1])
		}
	})
}
