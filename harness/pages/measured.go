package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// measured says in five lines how scenarios were measured.
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
			return fmt.Sprintf("commit `%s`, measured %s (UTC)", revision(d.manifest.Build), d.started.UTC().Format(time.DateOnly))
		}),
		"- Host: " + grouped(all, func(d *dataset) string { return report.HostWords(d.manifest.Host) }),
		"- Durability: " + grouped(all, func(d *dataset) string { return "`" + d.manifest.Durability() + "`" }) + " " + settings(all),
		"- Rounds: " + grouped(all, (*dataset).plan),
	}, "\n"), nil
}

// commands lists the command of each data, with a link to its page.
func commands(all []*dataset) string {
	var said []string
	for _, d := range all {
		said = append(said, fmt.Sprintf("%s ([`%s`](%s/%s.md))", report.Command(d.manifest), d.name, dataPages, d.name))
	}
	return strings.Join(said, ", ") + "."
}

// grouped says something of each data, once where it is the same of all or of several.
func grouped(all []*dataset, say func(*dataset) string) string {
	texts, of := byText(all, say)
	if len(texts) == 1 {
		return texts[0] + "."
	}
	for i, text := range texts {
		texts[i] += " of " + of[text]
	}
	return strings.Join(texts, "; ") + "."
}

// byText returns what is said of data, each text once, and the names of the data that it is said of.
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

// settings lists the settings that differ from their defaults: those that all data share, and then those of each. The settings of a sweep are
// those of its points, which stand beside each figure.
func settings(all []*dataset) string {
	differ := map[*dataset][]string{}
	count := map[string]int{}
	unknown := 0
	for _, d := range all {
		for _, setting := range report.TimedSettings(&d.manifest.Scenario) {
			text := fmt.Sprintf("`%s = %s`", setting.Path, setting.Value)
			switch {
			case setting.Value == scenario.NotRecorded:
				unknown++
			case !strings.HasPrefix(setting.Path, "sweeps."):
				differ[d] = append(differ[d], text)
				count[text]++
			}
		}
	}
	var parts, shared []string
	for _, text := range differ[all[0]] {
		if count[text] == len(all) {
			shared = append(shared, text)
		}
	}
	if len(shared) > 0 {
		parts = append(parts, strings.Join(shared, ", "))
	}
	texts, names := byText(all, func(d *dataset) string {
		return strings.Join(slices.DeleteFunc(differ[d], func(text string) bool { return count[text] == len(all) }), ", ")
	})
	for _, text := range texts {
		if text != "" {
			parts = append(parts, text+" of "+names[text])
		}
	}
	text := "All settings have their defaults"
	if len(parts) > 0 {
		text = "Not at the default: " + strings.Join(parts, "; ")
	}
	if unknown > 0 {
		text += fmt.Sprintf(" (%s not recorded)", render.Plural(unknown, "setting"))
	}
	return text + "."
}

// plan says how many rounds there were and how long, and the verdict if it is not pass.
func (d *dataset) plan() string {
	text := ""
	if d.soak != nil {
		text = report.SoakWindows(d.soak) + " in one go"
	} else {
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
