package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// The thresholds of the rules. Identical builds never reached them on a host whose speed changed by half.
const (
	fsyncsMin    = 0.01 // more a cycle
	scannedMin   = 10   // keys more a cycle
	allocatedMin = 1024 // bytes more a cycle
	// allocatedRateMin is the part of what the base allocates in a time that a function must allocate more in that time.
	allocatedRateMin = 0.25
	timesMin         = 1.5 // as many as in the base

	lockTimesMin = 4    // as long as in the base is waited
	lockPartMin  = 0.10 // of the base's time per cycle is waited, where the holders take no CPU time of note
	// heldNsMin is the waiting for each cycle that shows that a lock is wanted while its holder computes.
	heldNsMin = 30

	cpuPartMin = 0.12 // of the base's CPU time per cycle

	stageTimesMin = 4   // as long as in the base a stage takes
	stageUsMin    = 200 // longer
	offCPUPartMin = 0.5 // of that is not explained by anything that works

	outsideTimesMin = 3   // as long as in the base a call takes
	outsideUsMin    = 300 // longer outside the stages
	outsidePartMin  = 0.5 // of what it takes longer
	coresPartMax    = 0.8 // of the base's CPUs are busy: the servers wait
)

// fsyncRule: the store fsyncs more often for each cycle, and that takes time.
func fsyncRule(d *diagnosis) []candidate {
	more := d.c.fsyncs - d.b.fsyncs
	if more < fsyncsMin || d.c.fsyncs < timesMin*d.b.fsyncs {
		return nil
	}
	took := max(0, d.c.fsyncUs-d.b.fsyncUs)
	return []candidate{{Cause: result.Cause{
		Kind: causeFsync, Name: "prony_storage_fsyncs_total", Score: took,
		Sentence: fmt.Sprintf("%s fsyncs a cycle, %s before: they take %s a cycle longer, %s each",
			few(d.c.fsyncs), few(d.b.fsyncs), microseconds(took), microseconds(d.c.fsyncUs/d.c.fsyncs)),
	}}}
}

// allocationRule: a function allocates more for each cycle. Its CPU time is that of allocating and of collecting.
func allocationRule(d *diagnosis) []candidate {
	more := d.c.allocs.total - d.b.allocs.total
	if d.b.allocs.total <= 0 || more < allocatedMin || d.c.allocs.total < timesMin*d.b.allocs.total {
		return nil
	}
	functions := slices.Collect(maps.Keys(d.c.allocs.of))
	of := func(f string) float64 { return d.c.allocs.of[f].value - d.b.allocs.of[f].value }
	slices.SortFunc(functions, func(x, y string) int { return cmp.Or(cmp.Compare(of(y), of(x)), cmp.Compare(x, y)) })
	if len(functions) == 0 || of(functions[0]) < more/4 {
		return nil // it is a little of everything
	}
	first := functions[0]
	// Allocations that are not for tasks, such as those of the metrics endpoint, are more for each cycle if cycles are slow. The
	// growth must therefore be large for each second too.
	if of(first)/d.c.us < allocatedRateMin*d.b.allocs.total/d.b.us {
		return nil
	}
	us, charged := d.cpuOf(func(f string, _ growth) bool { return f == first || f == result.ChargeGC })
	return []candidate{{functions: charged, Cause: result.Cause{
		Kind: causeAllocation, Name: first, Score: us,
		Sentence: fmt.Sprintf("%s allocates %s a cycle, %s before: allocating and collecting it takes %s of CPU a cycle longer",
			named(first, d.c.allocs.of[first].callers), render.Amount(d.c.allocs.of[first].value, "bytes"), render.Amount(d.b.allocs.of[first].value, "bytes"), microseconds(us)),
	}}}
}

// scanRule: scans of the store step over more keys, and the functions that store take more CPU time.
func scanRule(d *diagnosis) []candidate {
	if d.c.scanned-d.b.scanned < scannedMin || d.c.scanned < timesMin*d.b.scanned {
		return nil
	}
	us, charged := d.cpuOf(func(f string, _ growth) bool { return strings.Contains(f, "/storage.") })
	name, by := "prony_storage_scanned_keys_total", ""
	if len(charged) > 0 {
		name = charged[0]
		by = " in " + named(name, d.grown[name].callers)
	}
	return []candidate{{functions: charged, Cause: result.Cause{
		Kind: causeScan, Name: name, Score: us,
		Sentence: fmt.Sprintf("scans%s step over %s keys a cycle, deleted ones included, %s before: %s of CPU a cycle",
			by, few(d.c.scanned), few(d.b.scanned), microseconds(us)),
	}}}
}

// lockRule: goroutines wait for a lock or a full channel, and did not before. The lock explains also the CPU time of its holders, since
// the waiters wait for that.
func lockRule(d *diagnosis) []candidate {
	var found []candidate
	for _, name := range slices.Sorted(maps.Keys(d.c.locks)) {
		now, was := d.c.locks[name], d.b.locks[name]
		more := now.WaitNsPerCycle - was.WaitNsPerCycle
		if more < heldNsMin || now.WaitNsPerCycle < lockTimesMin*was.WaitNsPerCycle || now.Kind == "runtime" {
			continue
		}
		sites := map[string]bool{}
		for _, s := range slices.Concat(now.Holders, now.Waiters) {
			if strings.HasPrefix(s.Function, module) { // many functions use a library's lock
				sites[s.Function] = true
			}
		}
		us, charged := d.cpuOf(func(f string, g growth) bool {
			return g.sure && (sites[f] || slices.ContainsFunc(g.callers, func(c string) bool { return sites[c] }) && holds(now, g.callers))
		})
		if us < cpuPartMin*d.b.functions.total && more/1e3 < lockPartMin*d.b.us {
			continue
		}
		s := candidate{functions: charged, Cause: result.Cause{Kind: causeLock, Name: name, Score: us + more/1e3}}
		channel := now.Kind == "channel" || now.Kind == "select"
		if channel {
			s.Kind = causeChannel
		}
		s.Sentence = lockSentence(d, now, us, channel)
		found = append(found, s)
	}
	return found
}

// holds reports whether a holder of a lock is among callers.
func holds(l result.Lock, callers []string) bool {
	return slices.ContainsFunc(l.Holders, func(s result.LockSite) bool { return slices.Contains(callers, s.Function) })
}

// lockSentence is like "62 % of all waiting for locks is for shard.inbox.mu, held by shard.(*inbox).put and wanted by
// shard.(*inbox).take: 1.2 µs of waiting a cycle, 8.1 µs a batch; holding it takes 3 µs of CPU a cycle, 20 µs a batch".
func lockSentence(d *diagnosis, l result.Lock, cpuUs float64, channel bool) string {
	each := func(us float64, of string) string {
		text := fmt.Sprintf("%s of %s a cycle", microseconds(us), of)
		if d.c.batches > 0 {
			text += fmt.Sprintf(", %s a batch", microseconds(us/d.c.batches))
		}
		return text
	}
	text := fmt.Sprintf("%s of all waiting for locks is for %s", render.PercentTo(l.Share, 0), l.Name)
	role, other, doing := ", held by ", " and wanted by ", "holding"
	if channel {
		role, other, doing = ", emptied by ", " and filled by ", "passing"
	}
	if len(l.Holders) > 0 {
		text += role + render.Function(l.Holders[0].Function)
	}
	if len(l.Waiters) > 0 {
		text += other + render.Function(l.Waiters[0].Function)
	}
	text += ": " + each(l.WaitNsPerCycle/1e3, "waiting")
	if cpuUs > 0 {
		text += "; " + doing + " it takes " + each(cpuUs, "CPU")
	}
	return text
}

// cpuRule: a function takes more CPU time for each cycle, beyond what all others do.
func cpuRule(d *diagnosis) []candidate {
	var found []candidate
	_, functions := d.cpuOf(func(f string, g growth) bool {
		return g.sure && g.excess >= cpuPartMin*d.b.functions.total && f != result.ChargeScheduling
	})
	for _, f := range functions {
		g, now := d.grown[f], d.c.functions.of[f]
		found = append(found, candidate{functions: []string{f}, Cause: result.Cause{
			Kind: causeCPU, Name: f, Score: g.excess,
			Sentence: fmt.Sprintf("%s takes %s of CPU a cycle, %s before: %s of the server's",
				named(f, g.callers), microseconds(now.value), microseconds(d.b.functions.of[f].value), render.PercentTo(now.value/d.c.functions.total, 0)),
		}})
	}
	return found
}

// timerRule: a stage takes longer for each batch, also in the median, without computing, fsyncs or waits for a lock.
func timerRule(d *diagnosis) []candidate {
	var most candidate
	for _, name := range []string{result.StageDecide, result.StageApply, result.StageCommit, result.StageReply} {
		now, was := d.c.stages[name], d.b.stages[name]
		more := now.us - was.us
		if now.p50Us < stageTimesMin*was.p50Us || now.p50Us-was.p50Us < stageUsMin || now.meanUs < stageTimesMin*was.meanUs {
			continue
		}
		idle := more - max(0, d.c.cpu-d.b.cpu) - d.explained(causeFsync, causeLock, causeChannel)
		if idle < offCPUPartMin*more || idle <= most.Score {
			continue
		}
		most.Cause = result.Cause{
			Kind: causeTimer, Name: name, Score: idle,
			Sentence: fmt.Sprintf("stage %s takes %s a batch, %s before, and for most of that nothing computes, waits for a lock or"+
				" for the disk: a timer or a sleep, %s a cycle", name, microseconds(now.meanUs), microseconds(was.meanUs), microseconds(idle)),
		}
	}
	if most.Score <= 0 {
		return nil
	}
	return []candidate{most}
}

// rpcRule: calls take longer outside the stages, and the servers have CPU time left.
func rpcRule(d *diagnosis) []candidate {
	if d.c.cpuCores > coresPartMax*d.b.cpuCores || d.b.cpuCores <= 0 || len(d.c.stages) == 0 || len(d.b.stages) == 0 {
		return nil
	}
	inside := stagesUs(d.c) - stagesUs(d.b)
	lost := max(0, d.c.us-d.b.us)
	for _, s := range d.candidates {
		lost -= s.Score // explained already
	}
	if lost < outsidePartMin*(d.c.us-d.b.us) {
		return nil
	}
	var most candidate
	for _, call := range []struct {
		name     string
		now, was float64
	}{{"enqueue", d.c.enqueue, d.b.enqueue}, {"settle", d.c.settle, d.b.settle}} {
		more := call.now - call.was
		outside := more - max(0, inside)
		if call.was <= 0 || call.now < outsideTimesMin*call.was || outside < outsideUsMin || outside < outsidePartMin*more {
			continue
		}
		if lost*outside/more <= most.Score {
			continue
		}
		most.Cause = result.Cause{
			Kind: causeRPC, Name: call.name, Score: lost * outside / more,
			Sentence: fmt.Sprintf("a call to %s takes %s, %s before, and %s of that is outside the shards' stages, with %s of %s CPUs busy:"+
				" something waits where calls and frames are received or sent", call.name, microseconds(call.now), microseconds(call.was),
				microseconds(outside), render.Digits(d.c.cpuCores, 2), render.Digits(d.b.cpuCores, 2)),
		}
	}
	if most.Score <= 0 {
		return nil
	}
	return []candidate{most}
}

// stagesUs returns the time of a batch from its oldest command's arrival to its last answer, as the sum of the stages' medians.
func stagesUs(e evidence) (us float64) {
	for name, s := range e.stages {
		if name == result.StageReplicate || name == result.StageApply && e.stages[result.StageReplicate].p50Us > 0 {
			continue // with Raft they are parts of commit
		}
		us += s.p50Us
	}
	return us
}
