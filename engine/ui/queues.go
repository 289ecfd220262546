package ui

import "github.com/pronybench/prony/engine/adminpb"

// queuesView is a page of the list of queues.
type queuesView struct {
	Tenant, Prefix string // the filter
	ByTenant       bool   // the user may see several tenants
	First          bool
	Rows           []queueRow
	Next           string // the token of the next page; "" on the last page
}

type queueRow struct {
	*adminpb.Queue

	Failures uint64
	Trend    chart
}

func (h *handler) queues(r *request) (view, error) {
	q := r.URL.Query()
	v := queuesView{Tenant: q.Get("tenant"), Prefix: q.Get("prefix"), ByTenant: r.operator(), First: q.Get("page") == ""}
	out, err := h.Admin.ListQueues(r.ctx(), &adminpb.ListQueuesRequest{Tenant: v.Tenant, Prefix: v.Prefix, PageSize: rows, PageToken: q.Get("page")})
	if err != nil {
		return view{}, err
	}
	v.Next = out.GetNextPageToken()
	for _, queue := range out.GetQueues() {
		v.Rows = append(v.Rows, queueRow{queue, failuresOf(queue), newChart("tasks", 96, 22, depths(h.samples.add(queue)))})
	}
	return view{"Queues", "queues", v}, nil
}
