// Package selftestpage writes the page of the gate's self-test.
package selftestpage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// PlotFile is the name of the plot on the page of a self-test.
const PlotFile = "selftest-power.svg"

// Page returns the page of a self-test. The same self-test always results in the same page.
func Page(t *gate.SelfTest) string {
	p := &doc.Document{}
	p.Heading(1, "How far the gate can be trusted")
	p.Paragraph("`prony gate selftest` lets the gate of `prony compare` judge duets with a known answer: builds of the same source, where each" +
		" alarm is false, and a change that was made slower on purpose by a known amount, where any other verdict is a miss. A" +
		" trial is a whole duet: the gate judges it after each look, and ends it as soon as it has decided.")
	p.Paragraph("Scenario %s, durability %s; a look takes %.0f s, and a duet has at most %d; the allowed false-alarm rate is %s over all"+
		" figures and looks together. Each duet has %s. Measured from %s to %s UTC.", doc.Code(t.Scenario), doc.Code(t.Durability), t.Within, t.Looks,
		render.PercentTo(t.Alpha, 2), words.Slices(t.SliceMs, t.Together, t.CPUs), words.Minute(t.Started), words.Minute(t.Finished))
	targetsSection(p, t)
	trialsSection(p, t)
	figuresSection(p, t)
	noiseSection(p, t)
	countersSection(p, t)
	checksSection(p, t)
	provenanceSection(p, t)
	p.Heading(2, "What this does not measure")
	p.Paragraph("One scenario, on the hosts named above. It does not cover losses that need another load, more cores or replicas, or hosts" +
		" noisier than these were in these hours. The planted amounts are calibrated for a bank and corrected by the measurements of its" +
		" pieces: the real losses of the changes are measured above.")
	return p.Markdown()
}

// trialsSection shows every verdict.
func trialsSection(p *doc.Document, t *gate.SelfTest) {
	p.Heading(2, "Verdicts")
	p.Paragraph("Disjoint trials share no generation, and their intervals (Wilson, 95 %%) are those of independent trials. Drawn trials use" +
		" random generations of the kind: they share generations, so they are not independent and have no" +
		" interval. A trial is red if the change is `regressed` or `incorrect`; it is red by" +
		" timings if CPU time, the rate or a latency is regressed, independent of the counters from fixed work.")
	var rows [][]string
	for _, k := range t.Kinds {
		for _, trial := range k.Trials {
			row := []string{k.Name, looks(trial.Looks), "drawn", fmt.Sprint(trial.Trials), fmt.Sprint(trial.Red()), "-", fmt.Sprint(trial.Timings), fmt.Sprint(trial.Verdicts[result.Pass]), "-"}
			if trial.Disjoint {
				row[2], row[5], row[8] = "disjoint", shareInterval(trial.Low, trial.High), shareInterval(trial.PassLow, trial.PassHigh)
			}
			other := trial.Trials - trial.Red() - trial.Verdicts[result.Pass] - trial.Verdicts[result.Inconclusive]
			rows = append(rows, append(row, fmt.Sprint(trial.Verdicts[result.Inconclusive]), fmt.Sprint(other)))
		}
	}
	p.Table([]string{"change", "looks", "trials", ">of", ">red", ">interval", ">by timings", ">`pass`", ">interval", ">`inconclusive`", ">other"}, rows)
	p.Plot("Share of changes that the gate detects, by their loss, durability "+doc.Escape(t.Durability), PlotFile, "")
	p.Paragraph("Which figures were `regressed` in the disjoint trials of one look:")
	var calls [][]string
	for _, k := range t.Kinds {
		if trial, ok := k.Trial(1, true); ok {
			row := []string{k.Name, fmt.Sprint(trial.Trials)}
			for _, m := range primaries() {
				row = append(row, fmt.Sprint(trial.ByMetric[m]))
			}
			calls = append(calls, append(row, calledCounters(trial)))
		}
	}
	header := []string{"change", ">trials"}
	for _, m := range primaries() {
		header = append(header, ">"+m)
	}
	p.Table(append(header, "counters"), calls)
}

// calledCounters names the counters that were regressed in trials, with the number of trials.
func calledCounters(t gate.Trial) string {
	var named []string
	for _, metric := range slices.Sorted(maps.Keys(t.ByMetric)) {
		if !slices.Contains(primaries(), metric) {
			named = append(named, fmt.Sprintf("%s %d", metric, t.ByMetric[metric]))
		}
	}
	return strings.Join(named, ", ")
}

// primaries returns the figures that judge a duet, without counters.
func primaries() (names []string) {
	for _, m := range gate.DefaultDuetPolicy().Primaries {
		names = append(names, m.Metric)
	}
	return names
}

func looks(n int) string {
	if n == 1 {
		return "1"
	}
	return fmt.Sprintf("up to %d", n)
}

func shareInterval(low, high float64) string {
	return render.Percent(low) + " to " + render.Percent(high)
}

// figuresSection shows the wanted and the measured loss of each kind.
func figuresSection(p *doc.Document, t *gate.SelfTest) {
	p.Heading(2, "What the changes lose")
	p.Paragraph("The loss of each figure over all generations of the bank, with its 95 %% interval; a negative loss is a gain. The figure that" +
		" calibrates the amount is bold, and its loss must match the wanted one.")
	header := []string{"change", "what it does", "planted", ">wanted", ">generations"}
	for _, m := range primaries() {
		header = append(header, ">"+m)
	}
	var rows [][]string
	for _, k := range t.Kinds {
		row := []string{k.Name, k.Does, doc.Code(strings.Join(k.Planted, " to ")), "-", render.Count(k.Generations)}
		if !k.Same() {
			row[3] = render.Percent(k.Loss)
		}
		for _, m := range primaries() {
			cell := "-"
			if f, ok := k.Figure(m); ok {
				cell = fmt.Sprintf("%s (%s)", render.Percent(f.Loss), shareInterval(f.Low, f.High))
				if m == k.Metric {
					cell = "**" + cell + "**"
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	p.Table(header, rows)
}

// noiseSection shows the noise in which the gate must find a loss.
func noiseSection(p *doc.Document, t *gate.SelfTest) {
	p.Heading(2, "Noise")
	p.Paragraph("The standard deviation of the ratio of both sides in one generation. For the mean of a look's generations it is smaller by the" +
		" square root of their number.")
	header := []string{"change", ">generations of a look"}
	for _, m := range primaries() {
		header = append(header, ">"+m)
	}
	var rows [][]string
	for _, k := range t.Kinds {
		row := []string{k.Name, fmt.Sprintf("%.1f", float64(k.Generations)/float64(k.Pieces))}
		for _, m := range primaries() {
			cell := "-"
			if f, ok := k.Figure(m); ok {
				cell = render.PercentTo(f.StdDev, 2)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	p.Table(header, rows)
}

// countersSection shows the verdicts on counters from fixed work.
func countersSection(p *doc.Document, t *gate.SelfTest) {
	if len(t.Counters) == 0 {
		return
	}
	p.Heading(2, "Counters from fixed work")
	p.Paragraph("Both sides do the same seeded sequence of operations. Each pair is judged unchanged, where a detection is a false alarm, and with the"+
		" change's figure multiplied by %.2f, which must be detected. Each bound has 95 %% confidence. Each counter is judged in the pairs of"+
		" all kinds except those whose planted fault changes it (%s).", 1+gate.CounterShift, changedCounters())
	p.Paragraph("A comparison shows and does not judge figures that the work does not determine: context switches, read and write calls, and fsyncs of" +
		" flushes and compactions, which run concurrently.")
	var rows [][]string
	for _, c := range t.Counters {
		rows = append(rows, []string{
			c.Metric, fmt.Sprint(c.Pairs), fmt.Sprint(c.False), render.Percent(c.FalseMost), fmt.Sprint(c.Since),
			fmt.Sprint(c.Called), render.Percent(c.CalledLeast),
		})
	}
	p.Table([]string{"counter", ">pairs", ">false alarms", ">at most", ">pairs since the last", ">+1 % called", ">at least"}, rows)
}

// changedCounters lists the counters that planted faults change, by the kind of change.
func changedCounters() string {
	var all []string
	for _, k := range gate.SelfTestKinds() {
		if len(k.Changes) > 0 {
			all = append(all, k.Name+": "+strings.Join(k.Changes, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// checksSection shows which losses the baselines of the smoke scenario detect and miss.
func checksSection(p *doc.Document, t *gate.SelfTest) {
	if len(t.Checks) == 0 {
		return
	}
	p.Heading(2, "What `prony check` calls")
	says := "For none of these losses, `prony check` detected all runs: it does not see a loss of that size."
	if from, ok := gate.CheckCallsFrom(t.Checks); ok {
		says = fmt.Sprintf("`prony check` detects losses of %s and more in all runs.", render.Percent(from))
	}
	p.Paragraph("The scenario %s runs on servers that lose a part of their rate, and is judged by the checked-in baseline as in CI. %s A smaller loss"+
		" needs `prony compare`.", doc.Code(t.Checks[0].Scenario), says)
	var rows [][]string
	for _, c := range t.Checks {
		rows = append(rows, []string{
			render.Percent(c.Loss), render.Percent(c.Measured), doc.Code(strings.Join(c.Planted, ", ")), fmt.Sprint(c.Runs), fmt.Sprint(c.Called), strings.Join(c.Broken, ", "),
		})
	}
	p.Table([]string{">loss of rate wanted", ">measured", "planted", ">runs", ">called", "broken limits"}, rows)
}

// provenanceSection shows the builds, the times and the amounts of the measurements.
func provenanceSection(p *doc.Document, t *gate.SelfTest) {
	p.Heading(2, "Provenance")
	p.Paragraph("%s; %s; %s, kernel %s, %s. The bank has duets of one scenario, and runs for baselines, of these commits:", doc.Code(strings.Join(t.Command, " ")), t.GoVersion,
		words.Machine(t.Host), t.Host.Kernel, t.Host.Filesystem)
	var rows [][]string
	for _, c := range t.Commits {
		commit := doc.Code(c.Commit)
		if c.Dirty {
			commit += " with local changes"
		}
		rows = append(rows, []string{commit, doc.Escape(c.Host), words.Minute(c.First), words.Minute(c.Last), fmt.Sprint(c.Pieces)})
	}
	p.Table([]string{"commit", "host", "from (UTC)", "to (UTC)", ">pieces"}, rows)
	if len(t.Calibrations) == 0 {
		return
	}
	p.Paragraph("The amounts are scaled from a larger one, by its effect on the CPU time of a cycle or on the time between cycles:")
	rows = nil
	for _, c := range slices.SortedFunc(slices.Values(t.Calibrations), func(a, b gate.SelfTestCalibration) int {
		return strings.Compare(a.Fault+" "+a.Metric, b.Fault+" "+b.Metric)
	}) {
		rows = append(rows, []string{
			c.Fault, c.Metric, doc.Code(c.Planted), render.Percent(c.Excess), shareInterval(c.Low, c.High), fmt.Sprint(c.Generations), words.Minute(c.Time), doc.Code(c.Commit),
		})
	}
	p.Table([]string{"fault", "figure", "planted", ">adds", ">95 % interval", ">generations", "time (UTC)", "commit"}, rows)
}
