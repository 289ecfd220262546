package report

import (
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

func serverHostsSection(p *doc.Document, r *result.Result) {
	if len(r.Manifest.Hosts) == 0 {
		return
	}
	p.Heading(3, "Hosts of the servers")
	p.Paragraph("The table above is the generator's host. The servers run on other hosts. The table below describes them, from commands over SSH" +
		" before the first round, or from the server's own report.")
	var rows [][]string
	for _, h := range r.Manifest.Hosts {
		for _, f := range hostFigures(h) {
			rows = append(rows, []string{doc.Code(h.Node), f[0], doc.Escape(words.OrUnknown(f[1]))})
		}
	}
	p.Table([]string{"node", "what", "value"}, rows)
}

// hostFigures returns the known properties of a server's host, in the order of the page. A value of
// "" is unknown.
func hostFigures(h result.ServerHost) [][2]string {
	load := ""
	if h.Load != nil {
		load = render.Number(*h.Load)
	}
	return [][2]string{
		{"said by", h.From},
		{"operating system", strings.TrimSpace(h.OS + " " + h.Arch)},
		{"kernel", h.Kernel},
		{"CPU", h.CPUModel},
		{"CPUs", words.Known(float64(h.CPUs), "")},
		{"memory", words.Known(h.MemoryMB, "MB")},
		{"load over a minute before the start", load},
		{"file system of the data", h.Filesystem},
		{"clock source", h.ClockSource},
		{"cgroup CPU limit", h.CgroupCPUMax},
		{"virtualisation", h.Virtualisation},
		{"server's GOMAXPROCS", words.Known(float64(h.GOMAXPROCS), "")},
		{"server's version", h.Version},
		{"server's commit", h.Commit},
	}
}
