package hclfile

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
)

func evaluate(t require.TestingT, definitions, expr string, vars map[string]string) (cty.Value, error) {
	r := Reader{Vars: vars}
	root := r.Source("a.hcl", []byte(definitions+"\nx = "+expr+"\n"), Names{
		Attributes: []string{"x"}, Blocks: []string{variableBlock, localsBlock},
	})
	if root == nil {
		return cty.NilVal, r.Err()
	}
	root.Declare()
	v, ok := root.eval(root.attrs["x"], nil)
	r.CheckVars()
	if err := r.Err(); err != nil {
		return cty.NilVal, err
	}
	require.True(t, ok)
	return v, nil
}

func TestValues(t *testing.T) {
	const definitions = `
variable "n" { default = 8 }
variable "part" { default = 0.3 }
variable "name" { default = "t" }
variable "list" { default = [1, "two", [3]] }
variable "on" { default = true }
locals {
  twice = 2 * var.n
  later = local.early + 1
  early = 1
}`
	for expr, want := range map[string]string{
		"1 + 2 * 3":                          "7",
		"(1 + 2) * 3":                        "9",
		"-var.n + 1":                         "-7",
		"10 * var.part":                      "3",
		"1 / 3 * 3":                          "1",
		"0.1 + 0.2":                          "0.3",
		"7 / 2":                              "3.5",
		"local.twice - local.later - 4 / -2": "16",
		`"${var.name}-${var.n / 3 * 3}"`:     "t-8",
		`"a${"b${var.on}"}"`:                 "abtrue",
		`"$${var.n}"`:                        "${var.n}",
		"var.list":                           `[1, "two", [3]]`,
		"var.list[1]":                        "two",
		`{ s = 1, t = 2 * var.n }[var.name]`: "16",
		`{ t = [var.n, 1] }[var.name][0]`:    "8",
		"[var.n, -1, local.early]":           "[8, -1, 1]",
		"var.n > 3 ? 1 : 2":                  "1",
		"var.on":                             "true",
	} {
		v, err := evaluate(t, definitions, expr, nil)
		require.NoError(t, err, expr)
		assert.Equal(t, want, formatValue(v), expr)
	}
}

func TestGivenValues(t *testing.T) {
	s := golden.Cases(t, "testdata/given.golden")
	for i, c := range []struct {
		value, given, want string
		refused            bool
	}{
		{"1", "2.5", "2.5", false},
		{"1", "two", "", true},
		{"1", "1e999", "", true},
		{"1", "", "", true},
		{"1", "0x10", "", true},
		{"1", "NaN", "", true},
		{`"a"`, "any text, ${x} too", "any text, ${x} too", false},
		{`"a"`, "", "", false},
		{`"a"`, "\xff", "", true},
		{"true", "false", "false", false},
		{"true", "no", "", true},
		{"[1]", `["a", 2]`, `["a", 2]`, false},
		{"[1]", "[]", "[]", false},
		{"[1]", "[1", "", true},
		{"[1]", "1", "", true},
		{"[1]", "[f(1)]", "", true},
		{"[1]", strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "", true},
		{"[1]", strings.Repeat("[", 5000), "", true},
	} {
		v, err := evaluate(t, fmt.Sprintf("variable \"x\" { default = %s }", c.value), "var.x", map[string]string{"x": c.given})
		if c.refused {
			s.Error(t, fmt.Sprintf("%d: %.10q", i, c.given), err)
			assert.Less(t, len(err.Error()), 400)
			continue
		}
		require.NoError(t, err, c.given)
		assert.Equal(t, c.want, formatValue(v))
	}
	_, err := evaluate(t, "", "1", map[string]string{"x": "1"})
	s.Error(t, "no variable", err)
}

// Arithmetic matches that of fractions, and yields a whole number if the fraction is one.
func TestArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var make func(depth int) (string, *big.Rat)
		make = func(depth int) (string, *big.Rat) {
			if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
				n, d := rapid.Int64Range(-1000, 1000).Draw(t, "n"), rapid.SampledFrom([]int64{1, 10, 100}).Draw(t, "d")
				r := big.NewRat(n, d)
				return "(" + r.FloatString(2) + ")", r
			}
			left, x := make(depth - 1)
			right, y := make(depth - 1)
			op := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op")
			z := new(big.Rat)
			switch {
			case op == "+":
				z.Add(x, y)
			case op == "-":
				z.Sub(x, y)
			case op == "*" || y.Sign() == 0:
				op = "*"
				z.Mul(x, y)
			default:
				z.Quo(x, y)
			}
			return "(" + left + " " + op + " " + right + ")", z
		}
		expr, want := make(4)
		v, err := evaluate(t, "", expr, nil)
		require.NoError(t, err, expr)
		exact, _ := new(big.Float).SetPrec(512).SetRat(want).Float64()
		got, _ := v.AsBigFloat().Float64()
		require.InEpsilon(t, exact+1e6, got+1e6, 1e-12, expr)
		if want.IsInt() {
			_, whole := Whole(v)
			require.True(t, whole, expr)
		}
	})
}

// Values and their evaluation are bounded, even if names are built from each other.
func TestValuesAreBounded(t *testing.T) {
	doubling := func(first, next string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "locals {\n  a0 = %s\n", first)
		for i := range 90 {
			fmt.Fprintf(&b, "  a%d = %s\n", i+1, strings.ReplaceAll(next, "?", fmt.Sprintf("local.a%d", i)))
		}
		return b.String() + "}\n"
	}
	s := golden.Cases(t, "testdata/large.golden")
	for name, c := range map[string]struct{ definitions, expr string }{
		"texts":   {doubling(`"12345678"`, `"${?}${?}"`), "1"},
		"lists":   {doubling("[1]", "[?, ?]"), "1"},
		"powers":  {doubling("1e100", "? * ?"), "1"},
		"chain":   {chain(150), "1"},
		"wide":    {"", `"` + strings.Repeat("${1}", 5000) + `"`},
		"many":    {"locals {\n" + lines(501) + "}", "1"},
		"written": {"", `"${1e999999999}"`},
		"loop":    {"locals { list = [1, 2] }", "[for a in local.list : [for b in local.list : a]]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evaluate(t, c.definitions, c.expr, nil)
			s.Error(t, name, err)
			assert.Less(t, len(err.Error()), 50_000)
		})
	}
}

// chain returns n locals, each of which refers to the next.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("locals {\n")
	for i := range n {
		fmt.Fprintf(&b, "  a%03d = local.a%03d\n", i, i+1)
	}
	fmt.Fprintf(&b, "  a%03d = 1\n}\n", n)
	return b.String()
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  n%d = 1\n", i)
	}
	return b.String()
}
