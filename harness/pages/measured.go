package pages

import (
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// measured describes the measurement of scenarios in five lines.
func (w *writer) measured(names ...string) (string, error) {
	if len(names) == 0 {
		return "", refuse("measured has no scenario: name those of the page")
	}
	var all []*dataset
	for _, name := range names {
		d, err := w.set.data.get(name)
		if err != nil {
			return "", err
		}
		all = append(all, d)
	}
	return strings.Join([]string{
		"- Command: " + commands(all),
		"- Code: " + grouped(all, func(d *dataset) string {
			return fmt.Sprintf("commit `%s`, measured on %s UTC", revision(d.manifest.Build), d.started.UTC().Format(time.DateOnly))
		}),
		"- Host: " + grouped(all, func(d *dataset) string { return report.HostWords(d.manifest.Host) }) + conditions(all),
		"- Durability: " + grouped(all, func(d *dataset) string { return "`" + d.manifest.Durability() + "`" }) + " " + settings(all),
		"- Rounds: " + grouped(all, (*dataset).plan),
	}, "\n"), nil
}

// conditions describes, with ranges of figures, the state of the hosts before the runs. It returns
// "" if no run recorded it.
func conditions(all []*dataset) string {
	var hosts []result.Host
	for _, d := range all {
		hosts = append(hosts, d.manifest.Host)
	}
	words := report.ConditionWords(hosts...)
	if words == "" {
		return ""
	}
	return " Measured " + words + "."
}

// commands lists each command once, with links to the pages of its data.
func commands(all []*dataset) string {
	var order []string
	pages := map[string][]string{} // by command
	for _, d := range all {
		command := report.Command(d.manifest)
		if pages[command] == nil {
			order = append(order, command)
		}
		pages[command] = append(pages[command], fmt.Sprintf("[`%s`](%s)", d.name, dataLink(d.name)))
	}
	for i, command := range order {
		order[i] = fmt.Sprintf("%s (%s)", command, strings.Join(pages[command], ", "))
	}
	return strings.Join(order, ", ") + "."
}

// grouped describes each data set, and merges equal descriptions.
func grouped(all []*dataset, say func(*dataset) string) string {
	texts, of := byText(all, say)
	if len(texts) == 1 {
		return texts[0] + "."
	}
	for i, text := range texts {
		texts[i] = of[text] + ": " + text
	}
	return strings.Join(texts, "; ") + "."
}

func byText(all []*dataset, say func(*dataset) string) (texts []string, names map[string]string) {
	names = map[string]string{}
	for _, d := range all {
		text := say(d)
		if names[text] == "" {
			texts = append(texts, text)
			names[text] = "`" + d.name + "`"
			continue
		}
		names[text] += ", `" + d.name + "`"
	}
	return texts, names
}

// settings lists the settings that differ from their defaults, each once with its data. It omits
// the settings of a sweep, because each figure shows its point.
func settings(all []*dataset) string {
	having := map[string][]string{} // names of the data by setting
	var names, order []string
	unknown := 0
	for _, d := range all {
		names = append(names, "`"+d.name+"`")
		for _, setting := range report.TimedSettings(&d.manifest.Scenario) {
			text := fmt.Sprintf("`%s = %s`", setting.Path, setting.Value)
			switch {
			case setting.Value == scenario.NotRecorded:
				unknown++
				continue
			case strings.HasPrefix(setting.Path, "sweeps."):
				continue
			case having[text] == nil:
				order = append(order, text)
			}
			having[text] = append(having[text], "`"+d.name+"`")
		}
	}
	var groups []string
	of := map[string][]string{} // settings by the names of the data
	for _, text := range order {
		who := strings.Join(having[text], ", ")
		if of[who] == nil {
			groups = append(groups, who)
		}
		of[who] = append(of[who], text)
	}
	everyone := strings.Join(names, ", ")
	text := "All settings have their defaults"
	for i, who := range groups {
		groups[i] = strings.Join(of[who], ", ")
		if who != everyone {
			groups[i] = who + ": " + groups[i]
		}
	}
	if len(groups) > 0 {
		text = "Not at the default: " + strings.Join(groups, "; ")
	}
	if unknown > 0 {
		text += fmt.Sprintf(" (%s not recorded)", render.Plural(unknown, "setting"))
	}
	return text + "."
}

// plan returns the number and the length of the rounds, and the verdict unless it is pass.
func (d *dataset) plan() string {
	var text string
	switch {
	case d.soak != nil:
		text = report.SoakWindows(d.soak) + " in one go"
	case d.serial != nil:
		text = render.Plural(len(d.serial.Points), "point") + " with a search and two windows each"
	default:
		text = report.Plan(d.run)
	}
	if d.verdict != result.Pass {
		text += ", verdict **" + string(d.verdict) + "**"
	}
	if d.run != nil {
		if reasons := d.manifest.Unpublishable(); len(reasons) > 0 {
			text += ", below the standard for published figures (" + strings.Join(reasons, "; ") + ")"
		}
	}
	return text
}
