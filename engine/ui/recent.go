package ui

import "github.com/pronybench/prony/engine/adminpb"

// recentView is the live tail of failures.
type recentView struct {
	Tenant, Queue string // the filter
	ByTenant      bool   // the user may see several tenants
	Rows          []*adminpb.RecentFailure
}

func (h *handler) recent(r *request) (view, error) {
	q := r.URL.Query()
	v := recentView{Tenant: q.Get("tenant"), Queue: q.Get("queue"), ByTenant: r.operator()}
	out, err := h.Admin.ListFailures(r.ctx(), &adminpb.ListFailuresRequest{Tenant: v.Tenant, Queue: v.Queue, PageSize: rows})
	if err != nil {
		return view{}, err
	}
	v.Rows = out.GetFailures()
	return view{"Failures", "recent", v}, nil
}
