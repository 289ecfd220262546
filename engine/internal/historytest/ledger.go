package historytest

import (
	"cmp"
	"fmt"
	"slices"
)

// Rules contains what Check must know in addition to the history.
type Rules struct {
	// Left contains the payloads of the tasks that the server still stores at the end.
	Left map[string]bool
	// SkewMs is the maximum difference between the clocks of the servers and clients in
	// milliseconds.
	SkewMs int64
}

// problemsMax is the maximum number of problems that Check reports.
const problemsMax = 20

// Check compares a history with the guarantees of a queue, and returns a line for each violation.
// The guarantees are:
//
//   - an acknowledged task is completed, possibly completed, or left;
//   - a task that was refused or never enqueued is never leased, and no call creates two tasks;
//   - a lease is settled at most once, and a task is completed at most once and never leased
//     afterwards;
//   - a task's tokens are unique and grow with its leases;
//   - a task is not leased again before its lease expires or is settled, and afterwards the earlier
//     lease cannot be settled;
//   - a lease that has neither expired nor been settled is not refused as stale.
func Check(ops []Op, rules Rules) []string {
	c := checker{rules: rules}
	byPayload := map[string][]Op{}
	byID := map[string][]Op{}
	for _, o := range ops {
		if o.Payload != "" {
			byPayload[o.Payload] = append(byPayload[o.Payload], o)
		}
		if o.ID != "" && o.Kind != Read {
			byID[o.ID] = append(byID[o.ID], o)
		}
	}
	for _, payload := range sortedKeys(byPayload) {
		c.task(payload, byPayload[payload])
	}
	for _, id := range sortedKeys(byID) {
		c.leases(id, byID[id])
	}
	return c.problems
}

func sortedKeys(m map[string][]Op) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

type checker struct {
	rules    Rules
	problems []string
}

func (c *checker) report(problem string, ops ...Op) {
	if len(c.problems) == problemsMax {
		return
	}
	for _, o := range ops {
		problem += "\n    " + o.String()
	}
	c.problems = append(c.problems, problem)
}

func (c *checker) task(payload string, ops []Op) {
	ids := map[string]bool{}
	acknowledged, possible, enqueued, done, came := false, false, false, false, false
	completions := 0
	for _, o := range ops {
		if o.ID != "" {
			ids[o.ID] = true
		}
		switch {
		case o.Kind == Enqueue:
			enqueued = true
			acknowledged = acknowledged || o.Outcome == OK
			possible = possible || o.Outcome == OK || o.Outcome == Unknown
		case o.Kind == Claim && o.Outcome == OK:
			came = true
		case o.Kind == Complete && o.Outcome == OK:
			completions++
			done = true
		case o.Kind == Complete && o.Outcome == Unknown:
			done = true
		}
	}
	switch {
	case !enqueued:
		c.report(fmt.Sprintf("%s was never enqueued", payload), ops...)
	case !possible && (came || c.rules.Left[payload]):
		c.report(fmt.Sprintf("%s exists although its enqueue was refused", payload), ops...)
	case acknowledged && !done && !c.rules.Left[payload]:
		c.report(fmt.Sprintf("%s was acknowledged and is lost", payload), ops...)
	}
	if len(ids) > 1 {
		c.report(fmt.Sprintf("%s has %d ids", payload, len(ids)), ops...)
	}
	if completions > 1 {
		c.report(fmt.Sprintf("%s was completed %d times", payload, completions), ops...)
	}
}

func (c *checker) leases(id string, ops []Op) {
	var claims, settles []Op
	for _, o := range ops {
		switch {
		case o.Kind == Claim && o.Outcome == OK:
			claims = append(claims, o)
		case o.Kind != Enqueue:
			settles = append(settles, o)
		}
	}
	slices.SortStableFunc(claims, func(a, b Op) int { return cmp.Compare(a.Token, b.Token) })
	for i := range claims {
		if i > 0 {
			c.pair(id, claims[i-1], claims[i], settles)
		}
	}
	for _, claim := range claims {
		c.refusals(id, claim, settles)
	}
	ended := map[uint64]Op{}
	for _, s := range settles {
		if s.Outcome != OK {
			continue
		}
		if s.Kind.ends() {
			if first, found := ended[s.Token]; found {
				c.report(fmt.Sprintf("%s: one lease was settled twice", id), first, s)
			}
			ended[s.Token] = s
		}
		for _, later := range claims {
			switch {
			case later.Token <= s.Token:
			case s.Kind == Complete:
				c.report(fmt.Sprintf("%s was completed and leased again", id), s, later)
			case s.Call > later.Return:
				c.report(fmt.Sprintf("%s: an earlier lease was settled after the task was leased again", id), later, s)
			}
		}
	}
}

// refusals checks the settlements of a lease that the server refused as stale. At the time of the
// refusal, the lease must have ended or must possibly have ended.
func (c *checker) refusals(id string, claim Op, settles []Op) {
	expiresMs := claim.ExpiresAtMs
	var ends []Op
	for _, s := range settles {
		if s.Token != claim.Token || s.Outcome != OK && s.Outcome != Unknown {
			continue
		}
		if s.Kind == Extend {
			expiresMs = min(expiresMs, s.CallMs+s.LeaseMs) // an extension can also shorten a lease
		} else if s.Kind.ends() {
			ends = append(ends, s)
		}
	}
	for _, s := range settles {
		if s.Token != claim.Token || s.Outcome != Stale || s.ReturnMs >= expiresMs-c.rules.SkewMs {
			continue
		}
		if !slices.ContainsFunc(ends, func(end Op) bool { return end.Call <= s.Return }) {
			c.report(fmt.Sprintf("%s: a valid lease was refused as stale", id), claim, s)
		}
	}
}

// pair checks two leases of one task. There must be no other known token between their tokens.
func (c *checker) pair(id string, a, b Op, settles []Op) {
	if a.Token == b.Token {
		c.report(fmt.Sprintf("%s: the same token twice", id), a, b)
		return
	}
	if b.grantedMs() < a.grantedMs()-c.rules.SkewMs {
		c.report(fmt.Sprintf("%s: the greater token belongs to the earlier lease", id), a, b)
	}
	if b.Attempt < a.Attempt {
		c.report(fmt.Sprintf("%s: the later lease is an earlier attempt", id), a, b)
	}
	expiresMs := a.ExpiresAtMs
	for _, s := range settles {
		if s.Token != a.Token {
			continue
		}
		if s.Kind.ends() && (s.Outcome == OK || s.Outcome == Unknown) && s.CallMs <= b.grantedMs()+c.rules.SkewMs {
			return // this settlement may have ended lease a before b began
		}
		if s.Kind == Extend && s.Outcome == OK {
			expiresMs = max(expiresMs, s.CallMs+s.LeaseMs)
		}
	}
	if b.grantedMs() < expiresMs-c.rules.SkewMs {
		c.report(fmt.Sprintf("%s was leased again %d ms before its lease expired", id, expiresMs-b.grantedMs()), a, b)
	}
}

// Enqueued returns the payloads of all tasks that may exist. Use it as Rules.Left if a history ends
// before all tasks are completed.
func Enqueued(ops []Op) map[string]bool {
	out := map[string]bool{}
	for _, o := range ops {
		if o.Kind == Enqueue && (o.Outcome == OK || o.Outcome == Unknown) {
			out[o.Payload] = true
		}
	}
	return out
}
