package result

import (
	"bytes"
	"encoding/json"
)

// withoutNulls removes null members from a document, and metrics whose median is null. Decoding
// would turn them into 0, but figures that were not measured must stay absent. No version of this
// program writes null for a number. withoutNulls returns text that is not JSON unchanged.
func withoutNulls(data []byte) []byte {
	if !bytes.Contains(data, []byte("null")) {
		return data
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil || decoder.More() {
		return data
	}
	kept, err := json.Marshal(keepKnown(document))
	if err != nil {
		return data
	}
	return kept
}

// keepKnown removes null members from all objects in a value, and returns nil for a metric without
// a median.
func keepKnown(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = keepKnown(v[i])
		}
	case map[string]any:
		if median, has := v["median"]; has && median == nil {
			return nil
		}
		for name := range v {
			if v[name] = keepKnown(v[name]); v[name] == nil {
				delete(v, name)
			}
		}
	}
	return value
}
