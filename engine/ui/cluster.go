package ui

import "github.com/pronybench/prony/engine/adminpb"

// clusterView is the cluster with the state of each shard's group.
type clusterView struct {
	*adminpb.GetClusterResponse

	Groups []groupRow
}

type groupRow struct {
	*adminpb.ClusterGroup

	Replicas []replicaLag
}

// replicaLag is the number of committed entries of a group that a member has not applied yet.
type replicaLag struct {
	Node string
	Lag  uint64
}

func (h *handler) cluster(r *request) (view, error) {
	out, err := h.Admin.GetCluster(r.ctx(), &adminpb.GetClusterRequest{})
	if err != nil {
		return view{}, err
	}
	v := clusterView{GetClusterResponse: out}
	for _, g := range out.GetGroups() {
		row := groupRow{ClusterGroup: g}
		for _, m := range g.GetReplicas() {
			// The numbers are not of the same moment, so a member may be ahead.
			lag := max(g.GetCommitIndex(), m.GetAppliedIndex()) - m.GetAppliedIndex()
			row.Replicas = append(row.Replicas, replicaLag{m.GetNode(), lag})
		}
		v.Groups = append(v.Groups, row)
	}
	return view{"Cluster", "cluster", v}, nil
}
