// Package k6 is Prony's extension of k6: scripts enqueue, claim and settle tasks of the engine, and
// what they do is entered in the ledger and timed by the harness's rules.
//
// What a script calls is declared in index.d.ts. The VUs of a process share one account, one set of
// connections and one load; sessions belong to one VU.
package k6

import (
	"maps"
	"slices"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/k6/k6api"
)

// ImportPath is what scripts import.
const ImportPath = "k6/x/prony"

// Register makes the extension known to k6. It is called once, before k6 runs.
func Register() { k6api.Register(ImportPath, New()) }

// Module makes the instances of all VUs of a process.
type Module struct{ process *process }

// New returns a module with an account of its own.
func New() *Module { return &Module{process: newProcess()} }

// NewModuleInstance implements k6's interface: it is called once for each VU.
func (m *Module) NewModuleInstance(vu k6api.VU) k6api.Instance {
	i := &instance{vu: vu, process: m.process, failure: m.process.initialise(vu)}
	return i
}

// instance is what one VU has of the extension. Its methods run on the VU's event loop, unless they
// say otherwise.
type instance struct {
	vu      k6api.VU
	process *process
	failure error // why the extension can't be used
}

// Exports implements k6's interface.
func (i *instance) Exports() k6api.Exports {
	named := map[string]any{
		"connect":  i.connect,
		"load":     i.load,
		"balance":  i.balance,
		"instance": i.name,
	}
	return k6api.Exports{Default: i.object(named), Named: named}
}

// object makes a script's object with the given functions and values.
func (i *instance) object(of map[string]any) *sobek.Object {
	o := i.vu.Runtime().NewObject()
	for _, name := range slices.Sorted(maps.Keys(of)) {
		i.set(o, name, of[name])
	}
	return o
}

// set sets a field of a new object, which has nothing that could refuse it.
func (i *instance) set(o *sobek.Object, name string, value any) {
	if err := o.Set(name, value); err != nil {
		i.throw(err)
	}
}

// throw ends the script's call with an error.
func (i *instance) throw(err error) {
	panic(i.errorOf(err))
}

// inInit reports whether the script is being read, and nothing runs yet.
func (i *instance) inInit() bool { return i.vu.State() == nil }
