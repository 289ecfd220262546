package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// duetServersSection lists the server settings that differ from their defaults or between the
// sides.
func duetServersSection(p *doc.Document, c *comparison) {
	p.Heading(3, "What the servers of both sides ran with")
	if len(c.duet.Sides[0].Settings) == 0 || len(c.duet.Sides[1].Settings) == 0 {
		p.Paragraph("Not recorded: the servers did not report it.")
		return
	}
	p.Paragraph("Settings that differ from their defaults or between the sides, as the server processes of the first generation reported them at their"+
		" start, and the limits of their Go runtimes. Addresses and paths are omitted. Every other setting has the same default on both"+
		" sides; %s has all.", doc.Code(result.DuetFile))
	if len(c.Duet.ServerSettings) == 0 {
		p.Paragraph("None.")
		return
	}
	var rows [][]string
	for _, s := range c.Duet.ServerSettings {
		base, change, from := doc.Code(s.Base), doc.Code(s.Change), s.BaseOrigin
		switch {
		case s.Only == baseArm:
			change = unknownSetting
		case s.Only != "":
			base, from = unknownSetting, s.ChangeOrigin
		case s.BaseOrigin != s.ChangeOrigin:
			from += " and " + s.ChangeOrigin
		}
		same := "yes"
		switch {
		case s.OfBuilds():
			same = "**no**: part of the change"
		case s.Differs() || s.Only != "":
			same = "**no**"
		}
		rows = append(rows, []string{doc.Code(s.Label()), base, change, doc.Escape(from), same})
	}
	p.Table([]string{"setting", "base", "change", "from", "same"}, rows)
}

// unknownSetting is shown for a setting that only the other side's build knows.
const unknownSetting = "unknown to its build"

// settingsText writes the settings of a duet that differ from their defaults: a line for the
// scenario's and a line for the servers'.
func settingsText(b *strings.Builder, d *result.DuetJudgement) {
	var scenarios, servers []string
	for _, s := range d.Settings {
		if s.Default != "" {
			scenarios = append(scenarios, s.Path+" "+plain(s.Value))
		}
	}
	for _, s := range d.ServerSettings {
		switch {
		case s.Only != "":
			servers = append(servers, fmt.Sprintf("%s %s (only the %s)", s.Label(), plain(s.Base+s.Change), s.Only))
		case s.OfBuilds():
			servers = append(servers, fmt.Sprintf("%s %s and %s (part of the change)", s.Label(), plain(s.Base), plain(s.Change)))
		case s.Differs():
			servers = append(servers, fmt.Sprintf("%s %s and %s", s.Label(), plain(s.Base), plain(s.Change)))
		default:
			servers = append(servers, s.Label()+" "+plain(s.Base))
		}
	}
	if len(scenarios) > 0 {
		fmt.Fprintf(b, "  settings that differ from their defaults: %s\n", strings.Join(scenarios, ", "))
	}
	if len(servers) > 0 {
		fmt.Fprintf(b, "  settings that the servers report: %s\n", strings.Join(servers, ", "))
	}
}

// plain returns a value unchanged, or quoted if it is not one word.
func plain(value string) string {
	if value == "" || strings.ContainsAny(value, " ,\n\"") {
		return strconv.Quote(value)
	}
	return value
}
