package run

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// targetProbe reads the processes of a target's servers and of the driver program at the edges of
// the window. A nil *targetProbe means that the round runs on Prony's own servers; its methods then
// do nothing.
type targetProbe struct {
	target *targetServers
	// roots are the processes of the servers at the start of the window. It is empty if the servers
	// run on other hosts.
	roots   []int
	before  observe.Usage
	client  observe.Usage
	spent   observe.Spent // used by the servers
	program observe.Spent // used by the driver program
	peak    error         // reason why the peak memory includes the warm-up; nil if it does not
	unknown bool          // set if the usage of the servers is unknown because a fault ended them
}

func newTargetProbe(t *targetServers) *targetProbe {
	if t == nil {
		return nil
	}
	return &targetProbe{target: t}
}

func (t *targetProbe) separate() bool { return t != nil && len(t.roots) > 0 }

func (t *targetProbe) start() (err error) {
	if t == nil {
		return nil
	}
	t.roots = t.target.pids()
	tree, err := observe.TreeOf(t.roots)
	if err != nil {
		return err
	}
	if t.before, err = tree.Sample(); err != nil {
		return err
	}
	t.peak = tree.ResetPeaks()
	t.client, err = observe.Sample(t.target.program.PID())
	return err
}

func (t *targetProbe) end() error {
	if t == nil {
		return nil
	}
	tree, err := observe.TreeOf(t.roots)
	if err != nil {
		return err
	}
	after, err := tree.Sample()
	if err != nil {
		return err
	}
	t.spent = after.Since(t.before)
	t.unknown = !slices.Equal(t.roots, t.target.pids())
	client, err := observe.Sample(t.target.program.PID())
	t.program = client.Since(t.client)
	return err
}

func (t *targetProbe) finish(m *measured) error {
	if !t.separate() {
		return nil
	}
	tree, err := observe.TreeOf(t.target.pids())
	if err != nil {
		return err
	}
	bytes, now, err := tree.Memory()
	if err != nil {
		return err
	}
	m.round.Metrics[result.ServerRSSMBMax] = float64(bytes) / 1e6
	if now {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: the target's servers are %d processes, which share memory: %s is their total at the end of the round, not a peak",
			m.round.Number, len(tree.PIDs()), result.ServerRSSMBMax))
	}
	if t.peak != nil && !now {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s covers the warm-up too: %v", m.round.Number, result.ServerRSSMBMax, t.peak))
	}
	if t.unknown {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: a fault ended the target's servers in the window: their CPU time is unknown", m.round.Number))
	}
	return nil
}

// ownCPU returns the resource usage of the target's processes so far. The caller subtracts it from
// the usage of all processes, so that it does not count as foreign load.
func (t *targetServers) ownCPU() (observe.Usage, error) {
	if t == nil {
		return observe.Usage{}, nil
	}
	tree, err := t.tree()
	if err != nil {
		return observe.Usage{}, err
	}
	return tree.Sample()
}

func (t *targetServers) tree() (observe.Tree, error) {
	return observe.TreeOf(append(t.pids(), t.program.PID()))
}
