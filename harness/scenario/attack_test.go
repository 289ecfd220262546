package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const attacked = `
scenario "attacked" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
  attack { kinds = ["empty-tasks", "long-polls"] }
  sweep "attack.clients" { values = [0, 2] }
}
`

// A sweep over the number of attackers may include 0, as a point without an attack.
func TestAttacksAreSwept(t *testing.T) {
	all, err := parse("attacked.hcl", []byte(attacked), nil)
	require.NoError(t, err)
	points := all[0].Plan()
	require.Len(t, points, 2)
	assert.Equal(t, "clients=0", points[0].Name)
	kinds := []string{AttackEmptyTasks, AttackLongPolls}
	assert.Equal(t, &Attack{Kinds: kinds, Clients: 0}, points[0].Attack)
	assert.Equal(t, &Attack{Kinds: kinds, Clients: 2}, points[1].Attack)
	text, err := json.Marshal(all[0])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"attack":{"kinds":["empty-tasks","long-polls"],"clients":0}`)
}
