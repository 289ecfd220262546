package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseExpected(t *testing.T) {
	got, err := ParseExpected("\nstorage_sets: a second record\n  commits_per_cycle : one: for each batch\n\nstorage_sets: a third record\n")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{WorkStorageSets: "a second record; a third record", WorkCommits: "one: for each batch"}, got)
	for text, problem := range map[string]string{
		"storage_set: misspelt": `"storage_set" is not a counter of fixed work: use one of storage_sets, `,
		"storage_sets":          "storage_sets has no reason: write storage_sets: REASON",
		"storage_sets: ":        "storage_sets has no reason",
	} {
		_, err := ParseExpected(text)
		assert.ErrorContains(t, err, problem, text)
	}
}
