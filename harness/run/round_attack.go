package run

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// startAttack starts a separate process that attacks the first server. It returns nil if the
// round's point has no attack or if the round is a calibration.
func (r *runner) startAttack(cluster *topology.Cluster, p plannedRound) (*attack.Process, error) {
	a := r.points[p.point].Attack
	if a == nil || a.Clients == 0 || p.kind == calibration {
		return nil, nil
	}
	binary := r.options.Attacker
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("start the attack: %w", err)
		}
	}
	file := func(what string) string {
		return r.folder.File(filepath.Join(logsDir, fmt.Sprintf("attack-%02d%s", p.number, what)))
	}
	first := cluster.Servers()[0].Node()
	plan := attack.Plan{Address: first.Address, Admin: first.Admin, Token: cluster.Token, CA: cluster.CA, Kinds: a.Kinds, Clients: a.Clients}
	return attack.Start(binary, plan, file(".json"), file(".log"))
}

func endAttack(p *attack.Process, m *measured) {
	if p == nil {
		return
	}
	counts, err := p.Stop()
	m.round.Attacks = counts
	if err != nil {
		m.fault(result.Invalid, err.Error())
	}
}
