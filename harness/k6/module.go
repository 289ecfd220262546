// Package k6 is Prony's extension of k6. Scripts enqueue, claim and settle tasks of the engine. The
// extension records the tasks in a ledger and times the calls by the harness's rules.
//
// index.d.ts declares the API of scripts. The VUs of a process share one ledger, one set of
// connections and one load. A session belongs to one VU.
package k6

import (
	"maps"
	"slices"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/k6/k6api"
)

// ImportPath is the path that scripts import.
const ImportPath = "k6/x/prony"

// Register registers the extension with k6. Call it once, before k6 runs.
func Register() { k6api.Register(ImportPath, New()) }

// Module creates the instances of all VUs of a process.
type Module struct{ process *process }

// New returns a module with a separate ledger.
func New() *Module { return &Module{process: newProcess()} }

// NewModuleInstance implements k6's interface. k6 calls it once for each VU.
func (m *Module) NewModuleInstance(vu k6api.VU) k6api.Instance {
	i := &instance{vu: vu, process: m.process, failure: m.process.initialise(vu)}
	return i
}

// instance is the extension of one VU. Its methods run on the VU's event loop, unless their comment
// says otherwise.
type instance struct {
	vu      k6api.VU
	process *process
	failure error // if not nil, the reason why the extension cannot be used
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

// object returns a new JavaScript object with the given functions and values.
func (i *instance) object(of map[string]any) *sobek.Object {
	o := i.vu.Runtime().NewObject()
	for _, name := range slices.Sorted(maps.Keys(of)) {
		i.set(o, name, of[name])
	}
	return o
}

// set sets a field of a new object. It does not fail, because a new object is writable.
func (i *instance) set(o *sobek.Object, name string, value any) {
	if err := o.Set(name, value); err != nil {
		i.throw(err)
	}
}

// throw ends the script's call with an exception.
func (i *instance) throw(err error) {
	panic(i.errorOf(err))
}

// inInit reports whether the VU is in the init context.
func (i *instance) inInit() bool { return i.vu.State() == nil }
