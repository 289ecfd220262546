package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Script is a script for k6. Its path is relative to the working directory, unless the scenario's
// file has an absolute path.
type Script struct {
	Path string `json:"path"`
	// SHA256 is the hash of the file's content when the scenario was read, in hexadecimal. It
	// excludes imported files.
	SHA256 string `json:"sha256"`
}

// ScriptBytesMax bounds the size of a k6 script.
const ScriptBytesMax = 1 << 20

// k6SeriesLeast is the shortest time between the samples of a series. Between two samples the
// script must send at least one of its reports.
const k6SeriesLeast = 500 * time.Millisecond

func readScript(b *hclfile.Block, driver string) Script {
	if driver != DriverK6 {
		if b.Has("script") && driver != "" {
			b.AttrProblem("script", fmt.Sprintf("the driver %q runs no script", driver), `remove it, or write driver = "k6"`)
		}
		return Script{}
	}
	path, content := b.OtherFile("script", hclfile.FileSpec{BytesMax: ScriptBytesMax, Required: true, Example: "k6/plan.js"})
	if path == "" {
		return Script{}
	}
	sum := sha256.Sum256(content)
	return Script{Path: path, SHA256: hex.EncodeToString(sum[:])}
}

// checkK6 refuses attributes that a workload of the driver "k6" does not support, because the
// script makes the calls from a plan that lacks them.
func checkK6(b *hclfile.Block, w Workload, workloads int) {
	if w.Driver != DriverK6 {
		return
	}
	refuse := func(attribute, why, remedy string) {
		b.AttrProblem(attribute, `the driver "k6" `+why, remedy)
	}
	if workloads > 1 {
		refuse("driver", fmt.Sprintf("supports a single workload; the scenario has %d", workloads), "keep one workload")
	}
	for _, of := range []struct{ attribute, why string }{
		{"connections", "does not support connections: the script opens them"},
		{"busy_poll", "does not support busy_poll: k6 waits in its runtime"},
		{"idempotent", "does not support idempotent: the script chooses it for each session"},
		{"seed", "does not support seed: it has no random choices"},
	} {
		if b.Has(of.attribute) {
			refuse(of.attribute, of.why, "remove it")
		}
	}
	if w.Keys.Kind != "" && w.Keys.Kind != KeysRoundRobin {
		refuse("keys", fmt.Sprintf("does not support keys = %s: the script chooses the queues", w.Keys), "remove it")
	}
	if w.Payload.Kind != "" && w.Payload.Kind != defaultPayload.Kind {
		refuse("payload", fmt.Sprintf("sends payloads of one size; payload is %s", w.Payload), "write a fixed size, such as fixed(64)")
	}
	if w.Arrivals.Kind == Closed && b.Has("in_flight") {
		refuse("in_flight", "does not bound the tasks in flight of closed producers", "remove it, and lower producers or raise workers if a backlog grows")
	}
	switch {
	case w.Arrivals.Kind == None:
		refuse("arrivals", "must send tasks, which arrivals = none() does not allow", "write arrivals = closed(), or use another driver")
	case w.Arrivals.Kind == Stages:
		refuse("arrivals", "does not support arrivals = stages(...)", "write ramp(...) or burst(...), or use another driver")
	case w.Arrivals.OfPeak():
		refuse("arrivals", "does not support rates that are multiples of the peak", `write a rate, as in rate("1k/s")`)
	}
}

func checkOfK6(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, func(w Workload) bool { return w.Driver == DriverK6 }) {
		return
	}
	refuse := func(what, why string) {
		b.Problem(fmt.Sprintf(`the driver "k6" cannot be combined with %s: %s`, what, why), "remove it, or use another driver")
	}
	if b.HasBlock("backlog") {
		refuse("a backlog", "the script's load ends with its drain")
	}
	if b.HasBlock("fault") {
		refuse("a fault", "the script does not continue after failures")
	}
	if s.Phases.WarmupMax > 0 {
		refuse("phases.warmup_max", "the script learns when its window begins before it sends anything")
	}
	if s.SeriesEvery > 0 && s.SeriesEvery < k6SeriesLeast {
		refuse(fmt.Sprintf("a series that samples every %s", hclfile.FormatDuration(s.SeriesEvery)), "the script reports its progress only four times a second")
	}
	for _, c := range s.Captures {
		if c.Kind == captureTrace {
			refuse(`capture "trace"`, "the script does not report slow cycles immediately")
		}
	}
	for _, i := range s.Invariants {
		if i.Kind == Ordered {
			refuse(`invariant "ordered"`, "the order of the script's calls is unknown")
		}
		if i.Kind == Exclusive {
			refuse(`invariant "exclusive"`, "the script does not report its leases")
		}
	}
}
