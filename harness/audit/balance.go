package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// Balance returns a sentence for each kind of fault in a ledger, and nil if the ledger balances.
func Balance(l *result.Ledger) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if l.Misrouted > 0 {
		say("not isolated: %d tasks were claimed by the wrong tenant or from the wrong queue%s",
			l.Misrouted, sampleOf("misrouted: ", l.Samples))
	}
	if l.Reordered > 0 {
		say("not ordered: %d tasks were claimed after a later one of the same producer and queue%s",
			l.Reordered, sampleOf("reordered: ", l.Samples))
	}
	if l.Contested+l.Revoked > 0 {
		say("not exclusive: %d tasks were claimed while another lease of the task was valid, and %d completions were refused although their lease was valid%s",
			l.Contested, l.Revoked, sample(slices.Concat(samplesOf("contested: ", l.Samples), samplesOf("revoked: ", l.Samples))))
	}
	if l.Misread > 0 {
		say("not read back: %d of %d reads returned wrong data, another tenant's task, or no task although it existed%s",
			l.Misread, l.Reads, several(samplesOf("misread: ", l.Samples)))
	}
	if l.Miscounted > 0 {
		say("not retried as failed: %d tasks were claimed with an attempt that does not follow their last failed attempt%s",
			l.Miscounted, several(samplesOf("miscounted: ", l.Samples)))
	}
	if l.Early > 0 {
		say("not delayed: %d of %d deliveries of delayed tasks came before their due time%s",
			l.Early, l.Delayed, several(samplesOf("early: ", l.Samples)))
	}
	if l.WrongResults > 0 {
		say("not returned: %d of %d results of completed tasks were wrong or not found%s",
			l.WrongResults, l.Results, several(samplesOf("wrong result: ", l.Samples)))
	}
	if l.Unextended > 0 {
		say("not extended: %d extensions were refused although their lease was valid, and %d were acknowledged%s",
			l.Unextended, l.Extended, several(samplesOf("unextended: ", l.Samples)))
	}
	if l.Rekeyed > 0 {
		say("not idempotent: %d of %d repeated enqueues with the same key returned another task id%s",
			l.Rekeyed, l.Repeated, several(samplesOf("rekeyed: ", l.Samples)))
	}
	if l.WrongHeaders > 0 {
		say("not labelled as enqueued: %d of %d deliveries had wrong headers%s", l.WrongHeaders, l.Labelled, several(samplesOf("wrong headers: ", l.Samples)))
	}
	if l.Premature > 0 {
		say("not after their members: %d of %d final tasks of batches were delivered before all members were completed%s", l.Premature, l.Finals, several(samplesOf("premature: ", l.Samples)))
	}
	if l.Unnoticed > 0 {
		say("not noticed: the worker got no notice of %d of %d cancellations of leased tasks%s", l.Unnoticed, l.Cancelled, several(samplesOf("unnoticed: ", l.Samples)))
	}
	if l.Doubled > 0 {
		say("not unique: %d tasks were unfinished while another task with the same unique key was; %d enqueues were refused%s",
			l.Doubled, l.Taken, several(samplesOf("doubled: ", l.Samples)))
	}
	if l.Lost+l.Duplicated+l.Corrupted > 0 {
		say("the ledger does not balance: %d lost, %d duplicated, %d corrupted of %d tasks enqueued%s",
			l.Lost, l.Duplicated, l.Corrupted, l.Enqueued, sample(l.Samples))
	}
	return problems
}

// sampleOf formats the first sample of a kind.
func sampleOf(kind string, samples []string) string { return sample(samplesOf(kind, samples)) }

func samplesOf(kind string, samples []string) []string {
	return slices.DeleteFunc(slices.Clone(samples), func(s string) bool { return !strings.Contains(s, kind) })
}

// severalMax is the maximum number of samples in several.
const severalMax = 3

// several formats the first few samples.
func several(samples []string) string {
	if len(samples) < 2 {
		return sample(samples)
	}
	return "; the first: " + strings.Join(samples[:min(len(samples), severalMax)], "; ")
}

func sample(samples []string) string {
	if len(samples) == 0 {
		return ""
	}
	return "; the first: " + samples[0]
}
