package profile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/engine/symbols"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

const (
	locksMax = 10
	sitesMax = 5
)

// Locks joins the block profile with the mutex profile. The block profile attributes a delay to the
// goroutine that waited. The mutex profile attributes it to the goroutine whose unlock ended the
// wait. The result shows for each lock the functions that waited and the functions that held it.
// Either profile may be nil. cycles is the number of cycles in the profiled windows. If it is 0,
// the figures per cycle are omitted.
//
// A lock is identified by the functions that acquire and release it. names maps functions of the
// engine to the names of their locks. For functions of other packages, the name is the type that
// has the function as a method, so two locks of one type count as one lock. The wait is read from
// the block profile. Locks that are not in the block profile, such as those of the runtime, are
// read from the mutex profile. Locks leaves out waits for work or for an answer, which names
// classifies.
//
// The runtime extrapolates from samples, so the figures of a lock with few waits are uncertain.
// Locks returns at most ten locks, longest wait first.
func Locks(block, mutex *profile.Profile, cycles uint64, names Names) []result.Lock {
	return account(block, mutex, cycles, names).Locks
}

// Account divides the time that a server's goroutines waited by the reason of the wait. All times
// are in nanoseconds, summed over all goroutines.
type Account struct {
	Locks []result.Lock
	// LockNs is the time spent waiting for locks and channels. WorkNs is the time of idle
	// goroutines. AnswerNs is the time spent waiting for answers of other processes, whose own
	// accounts contain the work for the answers.
	LockNs, WorkNs, AnswerNs float64
}

// lock is a result.Lock whose sums are still being computed.
type lock struct {
	result.Lock
	mutexNs, blockNs       float64
	mutexWaits, blockWaits uint64
	holders, waiters       map[result.LockSite]float64 // wait in nanoseconds by function and caller
}

func account(block, mutex *profile.Profile, cycles uint64, names Names) Account {
	var a Account
	all := map[string]*lock{}
	get := func(name, kind string) *lock {
		l := all[name]
		if l == nil {
			l = &lock{holders: map[result.LockSite]float64{}, waiters: map[result.LockSite]float64{}}
			l.Name, l.Kind = name, kind
			all[name] = l
		}
		return l
	}
	each(block, func(s site, ns float64, n uint64) {
		switch w, _ := names.wait(s); w {
		case symbols.ForWork:
			a.WorkNs += ns
			return
		case symbols.ForAnswer:
			a.AnswerNs += ns
			return
		}
		l := get(names.lock(s), lockKind(s.op))
		l.blockNs += ns
		l.blockWaits += n
		l.waiters[result.LockSite{Function: s.function, From: s.from}] += ns
		if s.op == opSend {
			if other := names.receivers(l.Name); len(other) == 1 {
				l.holders[result.LockSite{Function: other[0]}] += ns
			}
		}
	})
	each(mutex, func(s site, ns float64, n uint64) {
		if s.op == opCond {
			s.op = opMutex // a goroutine that waits for a condition releases the condition's lock
		}
		l := get(names.lock(s), lockKind(s.op))
		l.mutexNs += ns
		l.mutexWaits += n
		l.holders[result.LockSite{Function: s.function, From: s.from}] += ns
	})
	for _, l := range all {
		l.WaitNs, l.Waits = l.blockNs, l.blockWaits
		if l.blockNs == 0 {
			l.WaitNs, l.Waits = l.mutexNs, l.mutexWaits
		}
		if cycles > 0 {
			l.WaitNsPerCycle = l.WaitNs / float64(cycles)
		}
		a.LockNs += l.WaitNs
	}
	for _, l := range all {
		if l.WaitNs <= 0 {
			continue
		}
		l.Share = l.WaitNs / a.LockNs
		l.Holders, l.Waiters = sites(l.holders, l.WaitNs), sites(l.waiters, l.WaitNs)
		a.Locks = append(a.Locks, l.Lock)
	}
	slices.SortFunc(a.Locks, func(x, y result.Lock) int {
		return cmp.Or(cmp.Compare(y.WaitNs, x.WaitNs), cmp.Compare(x.Name, y.Name))
	})
	a.Locks = a.Locks[:min(len(a.Locks), locksMax)]
	return a
}

// each calls do for each sample of a contention profile. The arguments are the sample's site, its
// delay in nanoseconds and its number of contentions.
func each(p *profile.Profile, do func(s site, ns float64, n uint64)) {
	if p == nil {
		return
	}
	delay, err := valueIndex(p, "delay")
	if err != nil {
		return // it is not a contention profile
	}
	contentions, err := valueIndex(p, "contentions")
	for _, s := range p.Sample {
		var n uint64
		if err == nil {
			n = uint64(max(0, s.Value[contentions]))
		}
		do(siteOf(s), float64(max(0, s.Value[delay])), n)
	}
}

func lockKind(op string) string {
	if op == opSend || op == opReceive {
		return "channel"
	}
	return op
}

// sites returns the sites of a lock with the longest waits. It scales the waits of all sites so
// that they add up to wait, because the two profiles are sampled independently.
func sites(of map[result.LockSite]float64, wait float64) []result.LockSite {
	var total float64
	for _, ns := range of {
		total += ns
	}
	var all []result.LockSite
	for s, ns := range of {
		if ns <= 0 {
			continue
		}
		s.Share = ns / total
		s.WaitNs = s.Share * wait
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b result.LockSite) int {
		return cmp.Or(cmp.Compare(b.WaitNs, a.WaitNs), cmp.Compare(a.Function, b.Function), cmp.Compare(a.From, b.From))
	})
	return all[:min(len(all), sitesMax)]
}

// Caveats returns sentences that explain why the figures of locks are imprecise.
func Caveats() []string {
	return []string{
		"Contention is sampled and scaled up by the runtime: a lock of few waits is uncertain.",
		"Two locks of one type in a package that is not of this project count as one.",
		"Locks inside the Go runtime are named by the function that gave them up; who waited is not recorded.",
	}
}

// Site returns a text that describes a site: "shard.(*inbox).take in shard.(*Shard).decide".
func Site(s result.LockSite) string {
	text := render.Function(s.Function)
	if s.From != "" {
		text += " in " + render.Function(s.From)
	}
	return text
}

// Sentence returns a text that describes a lock: "62 % of lock wait is shard.inbox.mu, held by
// shard.(*inbox).take in shard.(*Shard).decide; 18 µs per cycle". If the holders are unknown, it
// names the waiters.
func Sentence(l result.Lock) string {
	role, by := "held by", l.Holders
	switch {
	case l.Kind == "channel" && len(l.Holders) > 0:
		role = "emptied by"
	case len(l.Holders) == 0:
		role, by = "waited for by", l.Waiters
	}
	text := fmt.Sprintf("%s of lock wait is %s", render.PercentTo(l.Share, 0), l.Name)
	if len(by) > 0 {
		text += fmt.Sprintf(", %s %s", role, Site(by[0]))
	}
	return text + "; " + render.Nanoseconds(l.WaitNsPerCycle) + " per cycle"
}
