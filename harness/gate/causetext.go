package gate

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// sitesOf returns a clause like ", held by shard.(*inbox).put and wanted by shard.(*inbox).take".
func sitesOf(l result.Lock) (text string) {
	role, other := ", held by ", " and wanted by "
	if l.Kind == "channel" || l.Kind == "select" {
		role, other = ", emptied by ", " and filled by "
	}
	if len(l.Holders) > 0 {
		text += role + render.Function(l.Holders[0].Function)
	}
	if len(l.Waiters) > 0 {
		text += other + render.Function(l.Waiters[0].Function)
	}
	return text
}

func named(function string, callers []string) string {
	switch len(callers) {
	case 0:
		return render.Function(function)
	case 1:
		return render.Function(function) + ", called by " + render.Function(callers[0]) + ","
	}
	return render.Function(function) + ", called by " + render.Function(callers[0]) + " for " + render.Function(callers[1]) + ","
}

func passes(stage string) string {
	if stage == result.StageReceive {
		return "message"
	}
	return "batch"
}

func microseconds(us float64) string { return render.Nanoseconds(1e3 * us) }

func few(n float64) string {
	switch {
	case n == 0:
		return "none"
	case n < 0.01:
		return "next to none"
	}
	return render.Digits(n, 3)
}
