package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestHeldIsASet compares the set with a map, with ids and tokens that often collide.
func TestHeldIsASet(t *testing.T) {
	type key struct {
		id    string
		token uint64
	}
	rapid.Check(t, func(r *rapid.T) {
		var h leaseSet
		model := map[key]bool{}
		ids := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,10}`), 1, 20).Draw(r, "ids")
		for range rapid.IntRange(1, 400).Draw(r, "steps") {
			k := key{rapid.SampledFrom(ids).Draw(r, "id"), rapid.Uint64Range(0, 30).Draw(r, "token")}
			if rapid.IntRange(0, 2).Draw(r, "action") > 0 {
				require.Equal(r, !model[k], h.put(lease{id: k.id, token: k.token}))
				model[k] = true
			} else {
				_, was := h.remove(k.id, k.token)
				require.Equal(r, model[k], was)
				delete(model, k)
			}
			require.Equal(r, len(model), h.count)
		}
		for k := range model {
			_, was := h.remove(k.id, k.token)
			require.True(r, was)
		}
		require.Zero(r, h.count)
		for _, e := range h.entries {
			require.Equal(r, lease{}, e, "no id remains")
		}
	})
}

// TestShardsMayGiveTheSameToken checks that different tasks may have the same token.
func TestShardsMayGiveTheSameToken(t *testing.T) {
	var h leaseSet
	a, b := &workLink{}, &workLink{}
	assert.True(t, h.put(lease{id: "a", token: 1, from: a}))
	assert.True(t, h.put(lease{id: "b", token: 1, from: b}))
	assert.False(t, h.put(lease{id: "a", token: 1, from: b}))
	assert.Same(t, a, h.origin("a", 1))
	from, was := h.remove("a", 1)
	assert.True(t, was)
	assert.Same(t, a, from)
	_, was = h.remove("a", 1)
	assert.False(t, was)
	assert.Nil(t, h.origin("a", 1))
	from, was = h.remove("b", 1)
	assert.True(t, was)
	assert.Same(t, b, from)
}
