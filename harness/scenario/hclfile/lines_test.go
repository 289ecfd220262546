package hclfile

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/stretchr/testify/assert"
)

func TestSeparate(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"one attribute per line stays", "b {\n a = 1\n c = 2\n}\n", "b {\n a = 1\n c = 2\n}\n"},
		{"one attribute on the block's line stays", "b { a = 1 }\n", "b { a = 1 }\n"},
		{"several on the block's line", `b "x" { a = 1  c = "2"  d = f(3) }`, "b \"x\" {\na = 1 \nc = \"2\" \nd = f(3)\n}"},
		{"several on a line inside", "b {\n a = 1 c = 2\n d = 3\n}", "b {\n a = 1\nc = 2\n d = 3\n}"},
		{"objects, lists, calls and strings stay", "b {\n a = { x = 1, y = 2 }\n c = [f(x = 1 y = 2)]\n d = \"${e = 1 f = 2}\"\n}", "b {\n a = { x = 1, y = 2 }\n c = [f(x = 1 y = 2)]\n d = \"${e = 1 f = 2}\"\n}"},
		{"a comment ends the line", "b {\n a = 1 # c = 2\n d = 3 }", "b {\n a = 1 # c = 2\n d = 3 }"},
		{"a comment inside the line does not", "b { a = 1 /* x */ \n c = 2 d = 3 }", "b { a = 1 /* x */ \n c = 2\nd = 3\n}"},
		{"the outermost level stays", "a = 1 c = 2", "a = 1 c = 2"},
		{"an attribute without a value stays", "b { a = c = 2 }", "b { a = c = 2 }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tokens, _ := hclsyntax.LexConfig([]byte(c.src), "", hcl.InitialPos)
			assert.Equal(t, c.want, string(separate([]byte(c.src), tokens)))
		})
	}
}

func TestNearest(t *testing.T) {
	names := []string{"producers", "workers", "window", "rounds", "cpu"}
	for name, want := range map[string]string{
		"produces": "producers", "wrokers": "workers", "windwo": "window", "Rounds": "rounds",
		"cp": "cpu", "gpu": "cpu", "ab": "", "colour": "", "workload": "", "": "",
	} {
		assert.Equal(t, want, Nearest(name, names), name)
	}
}
