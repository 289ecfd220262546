package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The base's own declarations do not count as the change's.
func TestCommitsDeclareCountersThatDiffer(t *testing.T) {
	repository(t)
	commit := func(message string) {
		gitDo(t, "commit", "--quiet", "--allow-empty", "-m", message)
	}
	commit("Read twice\n\nExpected-Counter: storage_gets: of the base")
	gitDo(t, "tag", "base-of-it")
	commit("Write twice\n\nA body.\n\nExpected-Counter: storage_sets: each task has a\n  second record")
	commit("Change nothing")
	b, err := newBuilder(t.Context(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, b.close(t.Context())) }()
	here, err := b.here(t.Context(), "change")
	require.NoError(t, err)
	base, err := b.checkout(t.Context(), "base", "base-of-it")
	require.NoError(t, err)
	got, err := b.expected(t.Context(), [2]source{base, here})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{result.WorkStorageSets: "each task has a second record"}, got)

	commit("Misspell\n\nExpected-Counter: storage_set: a reason")
	here, err = b.here(t.Context(), "change")
	require.NoError(t, err)
	_, err = b.expected(t.Context(), [2]source{base, here})
	assert.ErrorContains(t, err, "is not a counter of fixed work")
}
