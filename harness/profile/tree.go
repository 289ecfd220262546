package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// Call is a function in a call tree. It contains the function's cumulative value and the calls that
// the function made.
type Call struct {
	Function string
	Value    int64
	Calls    []*Call // largest value first
	// Omitted is 0 for a normal call. If it is above 0, this Call is the sum of that many smaller
	// calls that the tree omits, and Function is "".
	Omitted int
}

// Tree returns the call tree of a stored profile. Its first level consists of the functions with
// which goroutines were started. The root represents the whole profile and has no function. The
// tree contains at most callsMax calls, which are those with the largest values at any level, plus
// the sums of omitted calls. The values have the unit of the profile's summary and add up to its
// total. The error is fs.ErrNotExist if the file does not exist, and ErrEmpty if the profile is
// empty.
func Tree(runDir string, of result.Profile, callsMax int) (*Call, error) {
	file := filepath.FromSlash(of.File)
	if !filepath.IsLocal(file) {
		return nil, fmt.Errorf("the %s profile %q is not in the run folder", of.Kind, of.File)
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == of.Kind })
	if i < 0 {
		return nil, fmt.Errorf("unknown profile kind %q", of.Kind)
	}
	p, err := readFile(filepath.Join(runDir, file))
	if err != nil {
		return nil, err
	}
	index, err := valueIndex(p, kinds[i].value)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", of.File, err)
	}
	root := &growing{}
	for _, s := range p.Sample {
		stack := frames(s)
		if s.Value[index] <= 0 {
			continue
		}
		slices.Reverse(stack)
		root.add(stack, s.Value[index])
	}
	if root.value == 0 {
		return nil, fmt.Errorf("read %s: %w", of.File, ErrEmpty)
	}
	return root.call("", root.keep(callsMax)), nil
}

// ErrEmpty reports that a profile has no samples.
var ErrEmpty = errors.New("the profile is empty")

// growing is a call while the samples are being summed.
type growing struct {
	value int64
	calls map[string]*growing
}

// add adds a sample. stack contains the functions below this call, outermost first.
func (g *growing) add(stack []string, value int64) {
	g.value += value
	if len(stack) == 0 {
		return
	}
	callee := g.calls[stack[0]]
	if callee == nil {
		callee = &growing{}
		if g.calls == nil {
			g.calls = map[string]*growing{}
		}
		g.calls[stack[0]] = callee
	}
	callee.add(stack[1:], value)
}

type named struct {
	function string
	*growing
}

func (g *growing) sorted() []named {
	all := make([]named, 0, len(g.calls))
	for function, callee := range g.calls {
		all = append(all, named{function, callee})
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.function, b.function))
	})
	return all
}

// keep chooses at most the given number of calls below this one: those with the largest values. The
// value of a call never exceeds the value of its caller, and the caller precedes it in the stable
// order. The caller of a chosen call is therefore always chosen too.
func (g *growing) keep(most int) map[*growing]bool {
	var all []*growing
	var gather func(*growing)
	gather = func(g *growing) {
		for _, callee := range g.sorted() {
			all = append(all, callee.growing)
			gather(callee.growing)
		}
	}
	gather(g)
	slices.SortStableFunc(all, func(a, b *growing) int { return cmp.Compare(b.value, a.value) })
	kept := map[*growing]bool{}
	for _, chosen := range all[:min(most, len(all))] {
		kept[chosen] = true
	}
	return kept
}

// call returns a Call that contains the chosen calls, and one Call that sums all calls that were
// not chosen.
func (g *growing) call(function string, kept map[*growing]bool) *Call {
	c := &Call{Function: function, Value: g.value}
	var rest Call
	for _, callee := range g.sorted() {
		if kept[callee.growing] {
			c.Calls = append(c.Calls, callee.call(callee.function, kept))
			continue
		}
		rest.Value += callee.value
		rest.Omitted++
	}
	if rest.Omitted > 0 {
		c.Calls = append(c.Calls, &rest)
	}
	return c
}
