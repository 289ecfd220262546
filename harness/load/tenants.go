package load

// cyclesOfTenants returns the number of cycles of each tenant inside the window, in the order of
// the tenants. It returns nil if the tenants have unequal shares of the load.
func (r *round) cyclesOfTenants() []uint64 {
	if !r.cfg.Workload.TenantsAlike() {
		return nil
	}
	number := make(map[string]int)
	for i, tenant := range tenantsOf(r.cfg.Workload) {
		number[tenant] = i
	}
	cycles := make([]uint64, len(number))
	for _, s := range r.slots {
		cycles[number[s.tenant]] += s.record.cycles
	}
	return cycles
}
