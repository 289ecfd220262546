package browser

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	pprof "github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/report/htmlreport"
	"github.com/pronybench/prony/harness/result"
)

// windows are the window sizes of the tests.
var windows = []struct {
	name          string
	width, height int64
	colours       scheme
}{
	{"phone-light", 390, 844, light},
	{"phone-dark", 390, 844, dark},
	{"desktop-light", 1440, 900, light},
	{"desktop-dark", 1440, 900, dark},
}

// inEachWindow runs a test in each window, with the HTML file of a folder.
func inEachWindow(t *testing.T, folder string, test func(t *testing.T, b *tab)) {
	t.Helper()
	longtest.Only(t)
	chromium(t)
	document, err := htmlreport.Document(folder)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "pages.html")
	require.NoError(t, os.WriteFile(path, document, 0o644))
	file := (&url.URL{Scheme: "file", Path: path}).String()
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			b := open(t, w.width, w.height, w.colours)
			b.file, b.wide = file, w.width > 600
			b.load(file)
			test(t, b)
			b.quiet(file)
		})
	}
}

// published is the folder of the published pages.
var published = filepath.Join("..", "..", "reports")

// runPage has a table whose values have different units, and some values are missing.
const runPage = "# A run\n\n## Locks\n\n| lock | waited |\n|---|--:|\n| `a` | 1,200 ms |\n| `b` | 30.5 µs |\n| `c` | – |\n| `d` | 2 s |\n"

// profiledRun is the folder of a run with a page and a CPU profile.
func profiledRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
	}
	at := map[string]*pprof.Location{}
	for _, s := range []struct {
		stack string // outermost first
		value int64
	}{
		{"main.main shard.run shard.decide queue.Claim", 5e9},
		{"main.main shard.run shard.decide queue.Settle", 2e9},
		{"main.main shard.run storage.Commit pebble.Apply", 1e9},
		{"runtime.mcall runtime.schedule", 2e9},
	} {
		sample := &pprof.Sample{Value: []int64{1, s.value}}
		for name := range strings.FieldsSeq(s.stack) {
			if at[name] == nil {
				f := &pprof.Function{ID: uint64(len(at) + 1), Name: name}
				at[name] = &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, at[name])
			}
			sample.Location = append([]*pprof.Location{at[name]}, sample.Location...)
		}
		p.Sample = append(p.Sample, sample)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "profiles"), 0o755))
	file, err := os.Create(filepath.Join(dir, "profiles", "cpu.pb.gz"))
	require.NoError(t, err)
	require.NoError(t, p.Write(file))
	require.NoError(t, file.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "report.md"), []byte(runPage), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, result.HistogramsFile), []byte(`{"version":4,"unit":"ns","rounds":[]}`), 0o644))
	require.NoError(t, result.WriteResult(filepath.Join(dir, result.ResultFile), &result.Result{
		Version: result.Version, Run: "r", Scenario: "invented", Verdict: result.Pass,
		Profiles: []result.Profile{{
			Kind: "cpu", File: "profiles/cpu.pb.gz", Unit: "nanoseconds", Total: 10e9, Rounds: 1,
			Top: []result.ProfileEntry{{Function: "queue.Claim", Flat: 5e9, Cum: 5e9, Share: 0.5}},
		}},
	}))
	return dir
}

// shown is the JavaScript expression for the visible article.
const shown = "document.querySelector('article.shown')"

func TestPagesAreReachedByTheKeyboard(t *testing.T) {
	inEachWindow(t, published, func(t *testing.T, b *tab) {
		assert.InDelta(t, 1, b.number("document.querySelectorAll('article.shown').length"), 0)
		assert.InDelta(t, 1, b.number("document.querySelectorAll('article.shown h1').length"), 0)
		first := b.text(shown + ".id")
		b.press(kb.Tab)
		assert.Equal(t, "Skip to the page", b.text("document.activeElement.textContent"))
		b.press(kb.Enter)
		assert.Equal(t, "ui-main", b.text("document.activeElement.id"))

		if !b.wide {
			assert.Equal(t, "none", b.text("getComputedStyle(document.getElementById('ui-pages')).display"))
			b.do(chromedp.Focus(chromedp.CSS("#ui-menu")))
			b.press(kb.Enter)
			assert.Equal(t, "true", b.text("document.getElementById('ui-menu').getAttribute('aria-expanded')"))
			assert.GreaterOrEqual(t, b.number("document.getElementById('ui-filter').getBoundingClientRect().top"), 0.0, "the list is in sight wherever the page is scrolled to")
		}
		b.do(chromedp.Focus(chromedp.CSS("#ui-filter")))
		b.press("leader-kill-sync", " ", "load")
		assert.Contains(t, b.text("document.getElementById('ui-found').textContent"), "1 of ")
		b.press(kb.ArrowDown)
		assert.Equal(t, "A", b.text("document.activeElement.tagName"))
		b.press(kb.Enter)
		b.until(shown + ".id === 'page/leader-kill-sync' || " + shown + ".id.endsWith('/leader-kill-sync')")
		there := b.text(shown + ".id")
		assert.NotEqual(t, first, there)
		assert.Equal(t, "H1", b.text("document.activeElement.tagName"), "the focus follows the navigation")
		assert.Equal(t, there, b.text("document.querySelector('#ui-pages [aria-current=page]').hash.slice(1)"))

		b.do(chromedp.Reload())
		b.until("!!" + shown)
		assert.Equal(t, there, b.text(shown+".id"), "the address survives a reload")
		b.do(chromedp.Focus(chromedp.CSS("article.shown a[rel=next]")))
		b.press(kb.Enter)
		b.until(fmt.Sprintf("%s.id !== %q", shown, there))
		b.do(chromedp.Focus(chromedp.CSS("article.shown a[rel=prev]")))
		b.press(kb.Enter)
		b.until(fmt.Sprintf("%s.id === %q", shown, there))
	})
}

func TestEachPageFitsTheWindow(t *testing.T) {
	inEachWindow(t, published, func(t *testing.T, b *tab) {
		for i := range int(b.number("document.querySelectorAll('article').length")) {
			id := b.text(fmt.Sprintf("document.querySelectorAll('article')[%d].id", i))
			b.goTo("#" + id)
			b.until(fmt.Sprintf("%s.id === %q", shown, id))
			assert.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), b.number("innerWidth"), "%s is wider than the window", id)
		}
	})
}

func TestColoursAreChosen(t *testing.T) {
	inEachWindow(t, published, func(t *testing.T, b *tab) {
		ground := func() string { return b.text("getComputedStyle(document.body).backgroundColor") }
		const white, black = "rgb(255, 255, 255)", "rgb(20, 23, 26)"
		want := map[bool]string{true: black, false: white}
		isDark := strings.HasSuffix(t.Name(), "dark")
		assert.Equal(t, want[isDark], ground(), "the system's preference")
		b.run(`(() => { const s = document.getElementById("ui-scheme"); s.value = "` + map[bool]string{true: "light", false: "dark"}[isDark] +
			`"; s.dispatchEvent(new Event("change")); })()`)
		assert.Equal(t, want[!isDark], ground())
		b.do(chromedp.Reload())
		b.until("!!" + shown)
		assert.Equal(t, want[!isDark], ground(), "the choice survives a reload")
	})
}

func TestTablesAreSorted(t *testing.T) {
	inEachWindow(t, profiledRun(t), func(t *testing.T, b *tab) {
		column := func() string {
			return b.text(shown + `.querySelector("tbody").innerText.trim().split("\n").map((row) => row.split("\t")[0]).join()`)
		}
		sorted := func() string { return b.text(shown + `.querySelectorAll("th")[1].getAttribute("aria-sort") || "none"`) }
		assert.Equal(t, "a,b,c,d", column())
		const header = "article.shown th:nth-child(2) button"
		b.do(chromedp.Click(chromedp.CSS(header)))
		assert.Equal(t, "b,a,d,c", column(), "values compare in their units, and a missing one is the last")
		assert.Equal(t, "ascending", sorted())
		b.do(chromedp.Focus(chromedp.CSS(header)))
		b.press(kb.Enter)
		assert.Equal(t, "d,a,b,c", column())
		assert.Equal(t, "descending", sorted())
		b.press(kb.Enter)
		assert.Equal(t, "a,b,c,d", column())
		assert.Equal(t, "none", sorted())
	})
}

func TestChartsAreRead(t *testing.T) {
	inEachWindow(t, published, func(t *testing.T, b *tab) {
		page := b.text(`[...document.querySelectorAll("article")].find((a) => a.querySelector("[data-chart$='/steady-latency.svg']")).id`)
		b.goTo("#" + page)
		b.until("!!" + shown + `.querySelector(".chart svg path.line")`)
		assert.Equal(t, "none", b.text("getComputedStyle("+shown+`.querySelector("[data-chart] svg.plot")).display`), "the chart takes the plot's place")
		const area = "article.shown [data-chart$='/steady-latency.svg'] .area"
		says := func() string {
			return b.text(fmt.Sprintf("document.querySelector(%q).getAttribute('aria-valuetext')", area))
		}
		b.do(chromedp.ScrollIntoView(chromedp.CSS(area)), chromedp.Focus(chromedp.CSS(area)))
		b.press(kb.PageUp)
		assert.Contains(t, says(), " ms;")
		b.press(kb.End)
		end := says()
		assert.Contains(t, end, "percentile 99.")
		assert.Contains(t, end, "cycle: enqueue to acknowledged completion")
		b.press(kb.ArrowLeft)
		assert.NotEqual(t, end, says())
		b.press(kb.Home)
		assert.Contains(t, says(), "percentile 0;")
		b.run(fmt.Sprintf(`(() => { const a = document.querySelector(%q); const r = a.getBoundingClientRect();
			a.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width / 2, clientY: r.top + 50 })); })()`, area))
		assert.NotContains(t, says(), "percentile 0;", "a pointer also reads values")

		lines := func() float64 {
			return b.number(fmt.Sprintf("document.querySelectorAll(%q).length", area+" path.line"))
		}
		all := lines()
		const toggle = "article.shown [data-chart$='/steady-latency.svg'] .legend button"
		b.do(chromedp.Focus(chromedp.CSS(toggle)))
		b.press(kb.Enter)
		assert.InDelta(t, all-1, lines(), 0)
		assert.Equal(t, "false", b.text(fmt.Sprintf("document.querySelector(%q).getAttribute('aria-pressed')", toggle)))
		b.press(kb.Enter)
		assert.InDelta(t, all, lines(), 0)

		const summary = "article.shown [data-chart$='/steady-latency.svg'] summary"
		b.do(chromedp.Focus(chromedp.CSS(summary)))
		b.press(kb.Enter)
		b.until(fmt.Sprintf("document.querySelectorAll(%q).length > 5", "article.shown [data-chart$='/steady-latency.svg'] tbody tr"))
	})
}

// A chart over time shows the faults and flushes at a position, and one of slow commits shows the
// waits of a commit.
func TestChartsOverTimeAreRead(t *testing.T) {
	inEachWindow(t, published, func(t *testing.T, b *tab) {
		for _, chart := range []struct{ plot, says string }{{"leader-kill-faults.svg", "; kill n"}, {"leader-kill-stalls.svg", "(shard "}} {
			figure := fmt.Sprintf("[data-chart$='/%s']", chart.plot)
			b.goTo("#" + b.text(fmt.Sprintf(`document.querySelector(%q).closest("article").id`, figure)))
			area := "article.shown " + figure + " .area"
			b.until(fmt.Sprintf("!!document.querySelector(%q)", area+" svg"))
			b.do(chromedp.ScrollIntoView(chromedp.CSS(area)), chromedp.Focus(chromedp.CSS(area)))
			says := ""
			for range 20 {
				b.press(kb.ArrowRight)
				says = b.text(fmt.Sprintf("document.querySelector(%q).getAttribute('aria-valuetext')", area))
				if strings.Contains(says, chart.says) {
					break
				}
			}
			assert.Contains(t, says, chart.says)
		}
	})
}

func TestFlameGraphsZoom(t *testing.T) {
	inEachWindow(t, profiledRun(t), func(t *testing.T, b *tab) {
		b.goTo("#profiles/1")
		const area = "article.shown .flame"
		b.until(fmt.Sprintf("document.querySelectorAll(%q).length === 10", area+" .call"))
		says := func() string { return b.text(shown + `.querySelector(".readout").textContent`) }
		b.do(chromedp.Focus(chromedp.CSS(area)))
		assert.Equal(t, "all: 10 s, 100 % of all", says())
		b.press(kb.ArrowDown, kb.ArrowDown)
		assert.Equal(t, "shard.run: 8 s, 80 % of all", says())
		b.press(kb.ArrowDown, kb.ArrowRight)
		assert.Equal(t, "storage.Commit: 1 s, 10 % of all", says())
		assert.Contains(t, b.text(fmt.Sprintf("document.getElementById(document.querySelector(%q).getAttribute('aria-activedescendant')).getAttribute('aria-label')", area)), "storage.Commit")
		b.press(kb.Enter)
		assert.Equal(t, "storage.Commit: 1 s, 10 % of all, 100 % of storage.Commit", says())
		assert.InDelta(t, 5, b.number(fmt.Sprintf("document.querySelectorAll(%q).length", area+" .call")), 0, "the call, its callers and its callees")
		b.press(kb.Escape)
		assert.Contains(t, says(), "shard.run: 8 s")
		b.do(chromedp.Click(chromedp.CSS("article.shown .tools button")))
		assert.Contains(t, says(), "all: 10 s")
		b.run(fmt.Sprintf(`(() => { const call = [...document.querySelectorAll(%q)].find((c) => c.getAttribute("aria-label").startsWith("runtime.mcall"));
			const r = call.getBoundingClientRect(); call.dispatchEvent(new MouseEvent("click", { clientX: r.left + r.width / 2, clientY: r.top + 5, bubbles: true })); })()`, area+" .call"))
		assert.Equal(t, "runtime.mcall: 2 s, 20 % of all, 100 % of runtime.mcall", says())

		b.do(chromedp.Click(chromedp.CSS("article.shown .tools button")), chromedp.SendKeys(chromedp.CSS("article.shown .tools input"), "queue."))
		assert.Equal(t, "70 % of all is in or below such calls", b.text(shown+`.querySelector(".found").textContent`))
		assert.InDelta(t, 2, b.number(fmt.Sprintf("document.querySelectorAll(%q).length", area+" .match")), 0)
	})
}

// violation is a problem that axe-core found.
type violation struct {
	ID, Help, Impact string
	Nodes            []struct{ HTML, FailureSummary string }
}

// runAxe checks the visible article with axe-core. It removes the hidden articles during the check,
// because checking all of them takes minutes.
const runAxe = `(async () => {
	const aside = [...document.querySelectorAll("article:not(.shown)")].map((article) => {
		const place = document.createComment("");
		article.replaceWith(place);
		return { article, place };
	});
	try {
		return JSON.stringify((await axe.run({ resultTypes: ["violations"] })).violations);
	} finally {
		for (const { article, place } of aside) place.replaceWith(article);
	}
})()`

// accessible fails if axe-core finds problems in the visible article.
func (b *tab) accessible(of string) {
	b.t.Helper()
	var violations []violation
	require.NoError(b.t, json.Unmarshal([]byte(b.text(runAxe)), &violations))
	for _, v := range violations {
		assert.Fail(b.t, v.Help, "%s: %s (%s), in %d places; the first: %s\n%s", of, v.ID, v.Impact, len(v.Nodes), v.Nodes[0].HTML, v.Nodes[0].FailureSummary)
	}
}

func TestPagesAreAccessible(t *testing.T) {
	longtest.Only(t)
	axe := axeCore(t)
	for _, folder := range []string{published, profiledRun(t)} {
		inEachWindow(t, folder, func(t *testing.T, b *tab) {
			evaluated[bool](b, axe+"\n;true")
			for _, id := range distinct(b) {
				b.goTo("#" + id)
				b.until(fmt.Sprintf("%s.id === %q", shown, id))
				b.accessible(id)
			}
		})
	}
}

// distinct returns the id of the first article of each combination of elements: articles with the
// same kinds of elements need only one check.
func distinct(b *tab) (ids []string) {
	b.t.Helper()
	joined := b.text(`(() => {
		const seen = new Set();
		return [...document.querySelectorAll("article")].filter((a) => {
			const parts = [".table", "[data-chart]", "[data-chart$='faults.svg']", "[data-chart$='stalls.svg']", "[data-flame]", "svg.plot", "pre", "ul", "ol", "h3"];
			const kind = parts.filter((p) => a.querySelector(p)).join();
			return !seen.has(kind) && seen.add(kind);
		}).map((a) => a.id).join("\n");
	})()`)
	return strings.Split(joined, "\n")
}

// Without scripts all pages and their plots are visible, and nothing that needs scripts.
func TestPagesAreReadWithoutScripts(t *testing.T) {
	inEachWindow(t, published, func(t *testing.T, b *tab) {
		call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		b.load(b.file)
		root, err := chromedp.Call(b.ctx, dom.GetDocument, dom.GetDocumentParams{})
		require.NoError(t, err)
		isShown := func(selector string) bool {
			found, err := chromedp.Call(b.ctx, dom.QuerySelector, dom.QuerySelectorParams{NodeID: root.Root.NodeID, Selector: selector})
			require.NoError(t, err)
			require.NotZero(t, found.NodeID, selector)
			_, err = chromedp.Call(b.ctx, dom.GetBoxModel, dom.GetBoxModelParams{NodeID: found.NodeID})
			return err == nil // hidden elements have no box
		}
		assert.True(t, isShown("article:first-of-type h1"))
		assert.True(t, isShown("article:last-of-type h1"))
		assert.True(t, isShown("article:last-of-type table"))
		assert.True(t, isShown("figure[data-chart] svg.plot"))
		assert.True(t, isShown("#ui-pages a"))
		assert.False(t, isShown("#ui-filter"))
		assert.False(t, isShown("#ui-scheme"))
	})
}

// A served file is equal, and makes no other requests.
func TestAServedFileIsQuiet(t *testing.T) {
	longtest.Only(t)
	chromium(t)
	document, err := htmlreport.Document(profiledRun(t))
	require.NoError(t, err)
	server := httptest.NewServer(htmlreport.Handler(document))
	defer server.Close()
	b := open(t, 1440, 900, light)
	b.load(server.URL + "/")
	b.until("!!" + shown)
	b.goTo("#profiles/1")
	b.until("!!" + shown + `.querySelector(".flame .call")`)
	b.quiet(server.URL + "/")
}
