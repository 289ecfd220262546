package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestParseExpected(t *testing.T) {
	got, err := ParseExpected("\nstorage_sets: a second record\n  commits_per_cycle : one: for each batch\n\nstorage_sets: a third record\n")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{WorkStorageSets: "a second record; a third record", WorkCommits: "one: for each batch"}, got)
	s := golden.Cases(t, "testdata/expected.golden")
	for _, text := range []string{"storage_set: misspelt", "storage_sets", "storage_sets: "} {
		_, err := ParseExpected(text)
		s.Error(t, text, err)
	}
}
