package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTenantsAlike(t *testing.T) {
	alike := Workload{Driver: "stream", Tenants: 4, Producers: 8, Workers: 12}
	assert.True(t, alike.TenantsAlike())
	for name, change := range map[string]func(*Workload){
		"one tenant":      func(w *Workload) { w.Tenants = 1 },
		"more producers":  func(w *Workload) { w.Producers = 9 },
		"more workers":    func(w *Workload) { w.Workers = 13 },
		"no producers":    func(w *Workload) { w.Producers = 0 },
		"no workers":      func(w *Workload) { w.Workers = 0 },
		"a script's load": func(w *Workload) { w.Driver = DriverK6 },
	} {
		w := alike
		change(&w)
		assert.False(t, w.TenantsAlike(), name)
	}
}
