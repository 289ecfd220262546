package k6

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/pronybench/prony/harness/k6/options"
)

// Bounds of a task's headers. They equal the server's.
const (
	headersMax          = 32
	headerKeyMax        = 64
	headerValueMax      = 1 << 10
	headersBytesMax     = 4 << 10 // keys and values together
	headerKeyCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-_."
)

// kindHeader is the key of the header that the server can list tasks by.
const kindHeader = "kind"

// headersOf reads the headers of a task.
func headersOf(v options.Value) (map[string]string, error) {
	headers, err := v.TextsByName(headersMax)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		if key == "" || len(key) > headerKeyMax || strings.Trim(key, headerKeyCharacters) != "" {
			return nil, v.Fault("the key %q is invalid: use 1 to %d characters of a-z, 0-9 and \"-_.\"", key, headerKeyMax)
		}
		if err := checkHeaderValue(v.Field(key), headers[key]); err != nil {
			return nil, err
		}
		bytes += len(key) + len(headers[key])
	}
	if bytes > headersBytesMax {
		return nil, v.Fault("keys and values have %d bytes: pass at most %d", bytes, headersBytesMax)
	}
	return headers, nil
}

func checkHeaderValue(v options.Value, text string) error {
	if len(text) > headerValueMax || strings.ContainsFunc(text, unicode.IsControl) {
		return v.Fault("pass at most %d bytes of UTF-8 without control characters", headerValueMax)
	}
	return nil
}

// kindOf reads the kind of a task.
func kindOf(v options.Value) (string, error) {
	kind, err := v.Text()
	if err != nil {
		return "", err
	}
	return kind, checkHeaderValue(v, kind)
}

// addKind adds the kind to the headers. It reports whether the headers already have another kind.
func (t *newTask) addKind() (conflict bool) {
	if t.kind == "" {
		return false
	}
	if was, given := t.Headers[kindHeader]; given {
		return was != t.kind
	}
	if t.Headers == nil {
		t.Headers = map[string]string{}
	}
	t.Headers[kindHeader] = t.kind
	return false
}
