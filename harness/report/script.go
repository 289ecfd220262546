package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// ofScript reports whether k6 put the load on the servers.
func ofScript(r *result.Result) bool {
	driver, _ := r.Manifest.Setting("workload.driver")
	return driver == scenario.DriverK6
}

// scriptParagraph says where the load came from, where that is a k6 script.
func scriptParagraph(p *page, r *result.Result) {
	if !ofScript(r) {
		return
	}
	named := func(m result.Manifest, path, sum string) string {
		name, _ := m.Setting(path)
		hash, _ := m.Setting(sum)
		return fmt.Sprintf("%s (SHA-256 %s)", code(name), code(orUnknown(hash)))
	}
	scripts := "the script " + named(r.Manifest, "workload.script", "workload.script_sha256")
	if several := r.Manifest.Settings("scripts"); len(several) > 0 {
		var all []string
		for _, s := range several {
			all = append(all, named(s, "path", "sha256"))
		}
		scripts = "the scripts " + strings.Join(all, ", ")
	}
	p.paragraph("The load came from a k6 process that ran %s. JavaScript is the generator: its CPU time is the client's, and a rate that it"+
		" does not reach is its limit before it is the server's. The latencies and the account of the tasks are those that Prony's extension took in that process.", scripts)
}
