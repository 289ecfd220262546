package source_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/source"
)

func TestLine(t *testing.T) {
	const text = "package a\n\nfunc runner() {}\n\nfunc run() {}\n\nconst (\n\tbytesMaxOf = 1\n\tbytesMax = 2\n)\n// func last"
	for declaration, want := range map[string]int{
		"package a": 1, "func runner": 3, "func run": 5, "bytesMax": 9, "func last": 0, "unc run": 0, "func run() {}": 5,
	} {
		assert.Equal(t, want, source.Line([]byte(text), declaration), declaration)
	}
}
