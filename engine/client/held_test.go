package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

// TestHeldIsASet compares it with a map, with ids and tokens that often meet in the same place.
func TestHeldIsASet(t *testing.T) {
	type key struct {
		id    string
		token uint64
	}
	rapid.Check(t, func(r *rapid.T) {
		var h held
		model := map[key]bool{}
		ids := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,10}`), 1, 20).Draw(r, "ids")
		for range rapid.IntRange(1, 400).Draw(r, "steps") {
			k := key{rapid.SampledFrom(ids).Draw(r, "id"), rapid.Uint64Range(0, 30).Draw(r, "token")}
			if rapid.IntRange(0, 2).Draw(r, "action") > 0 {
				h.add([]*queuepb.Task{{Id: k.id, Token: k.token}})
				model[k] = true
			} else {
				require.Equal(r, model[k], h.remove(k.id, k.token))
				delete(model, k)
			}
			require.Equal(r, len(model), h.count)
		}
		for k := range model {
			require.True(r, h.remove(k.id, k.token))
		}
		require.Zero(r, h.count)
		for _, e := range h.entries {
			require.Equal(r, lease{}, e, "no id stays behind")
		}
	})
}

// TestShardsMayGiveTheSameToken to different tasks.
func TestShardsMayGiveTheSameToken(t *testing.T) {
	var h held
	h.add([]*queuepb.Task{{Id: "a", Token: 1}, {Id: "b", Token: 1}})
	assert.True(t, h.remove("a", 1))
	assert.False(t, h.remove("a", 1))
	assert.True(t, h.remove("b", 1))
}
