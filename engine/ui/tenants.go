package ui

import "github.com/pronybench/prony/engine/adminpb"

// tenantsView is a page of the list of tenants.
type tenantsView struct {
	First bool
	Rows  []tenantRow
	Next  string
}

type tenantRow struct {
	*adminpb.Tenant

	Uses []use
}

// use is a tenant's usage of one quota.
type use struct {
	Quota      string
	Used, Most string // Most is "" without a quota, and Used if the usage is not counted
}

func (h *handler) tenants(r *request) (view, error) {
	page := r.URL.Query().Get("page")
	out, err := h.Admin.ListTenants(r.ctx(), &adminpb.ListTenantsRequest{PageSize: rows, PageToken: page})
	if err != nil {
		return view{}, err
	}
	v := tenantsView{First: page == "", Next: out.GetNextPageToken()}
	for _, t := range out.GetTenants() {
		v.Rows = append(v.Rows, tenantRow{t, usesOf(t)})
	}
	return view{"Tenants", "tenants", v}, nil
}

func usesOf(t *adminpb.Tenant) []use {
	most := func(n uint64, write func(uint64) string) string {
		if n == 0 {
			return ""
		}
		return write(n)
	}
	q := t.GetQuotas()
	return []use{
		{"Tasks", count(t.GetTasks()), most(q.GetTasksMax(), count)},
		{"Bytes", bytesText(t.GetBytes()), most(q.GetBytesMax(), bytesText)},
		{"Leases", count(t.GetLeases()), most(q.GetLeasesMax(), count)},
		{"Enqueues/s", "", most(q.GetEnqueuesPerSMax(), count)},
		{"Payload", "", most(q.GetPayloadBytesMax(), bytesText)},
	}
}
