package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Script is what k6 runs. Its path is relative to the working directory, unless the scenario's file
// has an absolute one.
type Script struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the file's content when the scenario was read, in hexadecimal; what it imports is not in it
}

// ScriptBytesMax is how large a script of k6 may be.
const ScriptBytesMax = 1 << 20

// k6SeriesLeast is the shortest time between the samples of a series: each needs a report of the
// script's in it.
const k6SeriesLeast = 500 * time.Millisecond

// readScript reads script = "PATH", which the driver "k6" needs and no other has.
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

// checkK6 refuses what a workload of the driver "k6" does not have: the script makes the calls, by
// the plan that it receives.
func checkK6(b *hclfile.Block, w Workload, workloads int) {
	if w.Driver != DriverK6 {
		return
	}
	refuse := func(attribute, why, remedy string) {
		b.AttrProblem(attribute, `the driver "k6" `+why, remedy)
	}
	if workloads > 1 {
		refuse("driver", fmt.Sprintf("puts its load on the servers alone; the scenario has %d workloads", workloads), "keep one workload")
	}
	for _, of := range []struct{ attribute, why string }{
		{"connections", "knows no connections: the script opens its own"},
		{"busy_poll", "knows no busy_poll: k6 waits as its runtime does"},
		{"idempotent", "knows no idempotent: the script says so of its own sessions"},
		{"seed", "draws nothing from a seed"},
	} {
		if b.Has(of.attribute) {
			refuse(of.attribute, of.why, "remove it")
		}
	}
	if w.Keys.Kind != "" && w.Keys.Kind != KeysRoundRobin {
		refuse("keys", fmt.Sprintf("knows no keys = %s: the script chooses the queues", w.Keys), "remove it")
	}
	if w.Payload.Kind != "" && w.Payload.Kind != defaultPayload.Kind {
		refuse("payload", fmt.Sprintf("sends payloads of one size; payload is %s", w.Payload), "write fixed(64), say")
	}
	if w.Arrivals.Kind == Closed && b.Has("in_flight") {
		refuse("in_flight", "has closed producers that wait for no room in flight", "remove it, and lower producers or raise workers if a backlog grows")
	}
	switch {
	case w.Arrivals.Kind == None:
		refuse("arrivals", "sends tasks, and with arrivals = none() there are none", "write arrivals = closed(), or take another driver")
	case w.Arrivals.Kind == Stages:
		refuse("arrivals", "knows no arrivals = stages(...)", "write ramp(...) or burst(...), or take another driver")
	case w.Arrivals.OfPeak():
		refuse("arrivals", "finds no peak for arrivals to be a part of", `write a rate, as in rate("1k/s")`)
	}
}

// checkOfK6 refuses what a scenario can't have with the driver "k6".
func checkOfK6(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, func(w Workload) bool { return w.Driver == DriverK6 }) {
		return
	}
	refuse := func(what, why string) {
		b.Problem(fmt.Sprintf(`the driver "k6" can't be had with %s: %s`, what, why), "remove it, or take another driver")
	}
	if b.HasBlock("backlog") {
		refuse("a backlog", "the script's load ends with its drain")
	}
	if b.HasBlock("fault") {
		refuse("a fault", "the script does not know that it must go on through failures")
	}
	if s.Phases.WarmupMax > 0 {
		refuse("phases.warmup_max", "the script learns when its window begins before it sends anything")
	}
	if s.SeriesEvery > 0 && s.SeriesEvery < k6SeriesLeast {
		refuse(fmt.Sprintf("a series that samples every %s", hclfile.FormatDuration(s.SeriesEvery)), "the script says how far it is four times a second")
	}
	for _, c := range s.Captures {
		if c.Kind == captureTrace {
			refuse(`capture "trace"`, "the script does not report a slow cycle at once")
		}
	}
	for _, i := range s.Invariants {
		if i.Kind == Ordered {
			refuse(`invariant "ordered"`, "which calls of the script follow one another is not known")
		}
		if i.Kind == Exclusive {
			refuse(`invariant "exclusive"`, "the script does not report its leases")
		}
	}
}
