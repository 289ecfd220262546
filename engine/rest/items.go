package rest

import (
	"bytes"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// nestedMax is the maximum depth that checkItems checks. The decoder refuses arrays and objects
// that are nested more deeply.
const nestedMax = 64

// fieldsMax is the maximum number of fields and map entries in a text, as a multiple of the limit of
// array elements. It exceeds the fields of a task with all its headers.
const fieldsMax = 64

// elementsMax is the maximum number of elements of all arrays in a text, as a multiple of the limit
// of array elements. It is the number of elements of a task with all its dependencies.
const elementsMax = 1 + 100

// checkItems refuses a JSON text that contains an array of more than itemsMax elements, or more than
// fieldsMax times as many fields or elementsMax times as many elements. It does so before the decoder
// allocates memory for them. It accepts invalid JSON, which the decoder refuses.
func checkItems(text []byte, itemsMax int) error {
	// Each element takes at least two bytes: its own and a comma. So a short text cannot have too
	// many.
	if len(text) <= 2*itemsMax {
		return nil
	}
	var levels [nestedMax]struct {
		array bool
		items int
		key   []byte // of an object: the last string that was read, a key or a value
	}
	depth, fields, elements := 0, 0, 0
	for i := 0; i < len(text); i++ {
		level := &levels[depth]
		switch text[i] {
		case '{', '[':
			if depth++; depth == nestedMax {
				return nil
			}
			levels[depth].array, levels[depth].items, levels[depth].key = text[i] == '[', 1, level.key
			if text[i] == '{' {
				fields++
			} else {
				elements++
			}
		case '}', ']':
			if depth--; depth < 0 {
				return nil
			}
		case ',':
			if level.items++; level.array && level.items > itemsMax {
				return fieldError(clip(string(level.key)), fmt.Sprintf("has more than %d items: send at most %d in one call", itemsMax, itemsMax))
			}
			if level.array {
				elements++
			} else {
				fields++
			}
			if fields > fieldsMax*itemsMax {
				return status.Errorf(codes.InvalidArgument, "the body: has more than %d fields: send fewer items in one call", fieldsMax*itemsMax)
			}
			if elements > elementsMax*itemsMax {
				return status.Errorf(codes.InvalidArgument, "the body: has more than %d elements of arrays: send fewer items in one call", elementsMax*itemsMax)
			}
		case '"':
			end := textEnd(text, i+1)
			if end < 0 {
				return nil
			}
			if !level.array {
				level.key = text[i+1 : end]
			}
			i = end
		}
	}
	return nil
}

// textEnd returns the index of the quote that ends a string, or -1 if there is none.
func textEnd(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		n := bytes.IndexAny(b[i:], `"\`)
		if n < 0 {
			return -1
		}
		if i += n; b[i] == '"' {
			return i
		}
		i++ // skip the escaped character
	}
	return -1
}
