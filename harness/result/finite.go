package result

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// encode returns a value as an indented JSON document that ends with a newline. It fails if the
// value contains a NaN or an infinity, which JSON cannot represent. The error names the number by
// its path in the document, such as rounds[0].metrics.cycles_per_s.
func encode(value any) ([]byte, error) {
	if err := checkFinite("", reflect.ValueOf(value)); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// finiteOnly returns the explanations whose numbers are all finite, and adds a warning for each of
// the others. A measured figure must not be lost because of a number that explains it.
func finiteOnly[T any](name string, all []T, warnings *[]string) []T {
	found := all[:0]
	for i := range all {
		if err := checkFinite(fmt.Sprintf("%s[%d]", name, i), reflect.ValueOf(all[i])); err != nil {
			*warnings = append(*warnings, fmt.Sprintf("an explanation was dropped: %v", err))
			continue
		}
		found = append(found, all[i])
	}
	return found
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func checkFinite(path string, v reflect.Value) error {
	if !v.IsValid() || v.Type().Implements(marshaler) {
		return nil // a type that implements json.Marshaler handles infinity
	}
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%s is %v: a stored number must be finite", strings.TrimPrefix(path, "."), f)
		}
	case reflect.Pointer:
		return checkFinite(path, v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkFinite(fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if err := checkFinite(path+"."+key.String(), v.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if err := checkFinite(path+"."+name, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}
