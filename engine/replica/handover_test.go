package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Who leads in vain goes on: the transfer fails since there is nobody to take over.
func TestALeadThatNobodyTakesIsKept(t *testing.T) {
	g := newGroup(t, func(o *Options) { o.Bootstrap = o.Bootstrap[:1] })
	g.fill(1, "n1")
	leader := g.members["n1"]
	require.Error(t, leader.Transfer(""))
	g.fill(10, "n1")
}
