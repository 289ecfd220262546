package profile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/stat"
)

// Beside contains the time of one function or lock in each pair of rounds of base and change, in
// nanoseconds per cycle.
type Beside struct {
	Node     string // result.GeneratorNode for the generator; "" for the sum over all servers
	Kind     string // "cpu" or KindLock
	Function string // name of the function or the lock
	stat.Pairs
}

// Level returns the average time over all rounds of both sides, in nanoseconds per cycle.
func (b *Beside) Level() float64 {
	var sum float64
	for i := range b.Base {
		sum += b.Base[i].Value + b.Change[i].Value
	}
	return sum / float64(len(b.Base))
}

// PairUp pairs the rounds of two sides that have the same number. It returns the CPU time of each
// function and the wait for each lock, sorted by node, kind and name. It attributes time to
// functions as Diff does. A kind is left out if a round does not have it. If there are fewer than
// two pairs of rounds with cycles, the error is ErrTooFewRounds.
func PairUp(base, change []PerRound) ([]Beside, error) {
	var b, c []PerRound
	for _, r := range base {
		k := slices.IndexFunc(change, func(o PerRound) bool { return o.Round == r.Round })
		if k >= 0 && r.Cycles > 0 && change[k].Cycles > 0 {
			b, c = append(b, r), append(c, change[k])
		}
	}
	if len(b) < diffRoundsMin {
		return nil, fmt.Errorf("%w: %d generations have profiles of both sides, expected at least %d", ErrTooFewRounds, len(b), diffRoundsMin)
	}
	cpu := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == "cpu" })]
	var all []Beside
	for _, generator := range []bool{false, true} {
		of, _, err := chargedSides(b, c, cpu, generator)
		if err != nil {
			return nil, fmt.Errorf("pair up %s profiles: %w", cpu.name, err)
		}
		all = append(all, besides(cpu.name, generator, of)...)
		all = append(all, besides(KindLock, generator, lockedSides(b, c, generator))...)
	}
	slices.SortFunc(all, func(a, b Beside) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Function, b.Function))
	})
	return all, nil
}

func besides(kind string, generator bool, of *sides) (all []Beside) {
	if of == nil {
		return nil
	}
	functions := map[string]bool{}
	for _, side := range of {
		for _, round := range side {
			for function, c := range round {
				if c.flat.Value > 0 {
					functions[function] = true
				}
			}
		}
	}
	for function := range functions {
		b := Beside{Node: nodeOf(generator), Kind: kind, Function: function}
		for i, values := range []*[]stat.Counted{&b.Base, &b.Change} {
			for _, round := range of[i] {
				*values = append(*values, round[function].flat)
			}
		}
		all = append(all, b)
	}
	return all
}
