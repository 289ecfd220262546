package scenario

// TenantsAlike reports whether the workload has several tenants with the same number of producers
// and of workers each, so that a fair server completes as many tasks of each. The tenants that a
// script opens are not known.
func (w Workload) TenantsAlike() bool {
	return w.Tenants > 1 && w.Driver != DriverK6 && w.Producers > 0 && w.Workers > 0 && w.Producers%w.Tenants == 0 && w.Workers%w.Tenants == 0
}
