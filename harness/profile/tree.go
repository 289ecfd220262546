package profile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// Call is a function as its caller called it: what it and all that it called cost, and the calls that it made.
type Call struct {
	Function string
	Value    int64
	Calls    []*Call // the dearest first
	// Omitted is above 0 if this Call sums up that many smaller calls, which the tree leaves out. Function is empty then.
	Omitted int
}

// Tree returns the calls of a profile that a run stored, from the functions that goroutines were started with down. The outermost Call is the
// whole profile and has no function. The tree has callsMax calls at most, besides those that stand for omitted ones: the dearest, wherever
// they are. The values are in the unit of the profile's summary, and add up to its total. The error is fs.ErrNotExist's if the file does not
// exist.
func Tree(runDir string, of result.Profile, callsMax int) (*Call, error) {
	file := filepath.FromSlash(of.File)
	if !filepath.IsLocal(file) {
		return nil, fmt.Errorf("the %s profile %q is not in its run's folder", of.Kind, of.File)
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == of.Kind })
	if i < 0 {
		return nil, fmt.Errorf("a profile of kind %q is not known", of.Kind)
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

// ErrEmpty says that nothing was recorded in a profile.
var ErrEmpty = errors.New("the profile is empty")

// growing is a call while samples are added.
type growing struct {
	value int64
	calls map[string]*growing
}

// add adds a sample with the functions below this one, outermost first.
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

// named is a call with its function.
type named struct {
	function string
	*growing
}

// sorted are the calls that a call made, the dearest first.
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

// keep chooses the dearest calls below this one, at most so many. No call is dearer than its caller, which stands before it: the caller of a
// chosen one is chosen.
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

// call returns the call with those below it that are kept, and one for all others that it made.
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
