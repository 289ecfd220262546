package result_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// Add must sum every number of an account, including new fields.
func TestSumsHaveAllNumbers(t *testing.T) {
	t.Parallel()
	var l, twice result.Ledger
	var a, doubled result.Arrivals
	for i, of := range []any{&l, &a} {
		v := reflect.ValueOf(of).Elem()
		for f := range v.NumField() {
			switch field := v.Field(f); field.Kind() {
			case reflect.Uint64:
				field.SetUint(uint64(10*i + f + 1))
			case reflect.Float64:
				field.SetFloat(float64(10*i + f + 1))
			case reflect.Slice:
				field.Set(reflect.ValueOf([]string{"lost: x"}))
			default:
				require.Fail(t, "a field of another kind", "%s", v.Type().Field(f).Name)
			}
		}
	}
	twice.Add(l, "")
	twice.Add(l, "i1")
	doubled = a
	doubled.Add(a)
	assert.Equal(t, []string{"lost: x", "i1: lost: x"}, twice.Samples)
	for _, pair := range [][2]any{{l, twice}, {a, doubled}} {
		one, two := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		for f := range one.NumField() {
			name := one.Type().Field(f).Name
			switch one.Field(f).Kind() {
			case reflect.Uint64:
				assert.Equal(t, 2*one.Field(f).Uint(), two.Field(f).Uint(), name)
			case reflect.Float64:
				want := 2 * one.Field(f).Float()
				if name == "PeakPerSecond" {
					want /= 2
				}
				assert.InEpsilon(t, want, two.Field(f).Float(), 1e-9, name)
			}
		}
	}
}
