package main

import (
	"encoding/json"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/version"
)

func TestVersion(t *testing.T) {
	want := version.Of()
	inJSON := prony(t, "version", "--json")
	require.Equal(t, 0, inJSON.code, inJSON.stderr)
	var document version.Info
	decoder := json.NewDecoder(strings.NewReader(inJSON.stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&document), inJSON.stdout)
	assert.Equal(t, want, document)
	assert.Equal(t, runtime.Version(), document.Go)
	assert.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, document.Platform)

	inWords := prony(t, "version")
	require.Equal(t, 0, inWords.code, inWords.stderr)
	for _, row := range want.Rows() {
		assert.Regexp(t, `(?m)^`+row[0]+` +`+regexp.QuoteMeta(row[1])+`$`, inWords.stdout)
	}
	assert.Equal(t, 2, prony(t, "version", "now").code)
}
