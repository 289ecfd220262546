package scenario

// TenantsAlike reports whether the workload has several tenants with equal numbers of producers and
// of workers, so that a fair server completes equal numbers of their tasks. It returns false for
// k6, because the tenants that a script uses are unknown.
func (w Workload) TenantsAlike() bool {
	return w.Tenants > 1 && w.Driver != DriverK6 && w.Producers > 0 && w.Workers > 0 && w.Producers%w.Tenants == 0 && w.Workers%w.Tenants == 0
}
