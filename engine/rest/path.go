package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// level is an object or an array whose end was not yet read.
type level struct {
	object bool
	key    string // in an object: the current key
	named  bool   // in an object: true if the key was read, but not yet its value
	index  int    // in an array: the index of the last element that was read; -1 before the first
}

// fieldAt returns the path of the value at an offset of a JSON text, such as "tasks[2].queue". The
// path is "" at the top level. fieldAt reads the text only up to the first syntax error.
func fieldAt(data []byte, offset int) string {
	var levels []level
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return pathOf(levels)
		}
		reached := d.InputOffset() > int64(offset)
		top := len(levels) - 1
		switch {
		case token == json.Delim('}') || token == json.Delim(']'):
			levels = levels[:top]
		case top >= 0 && levels[top].object && !levels[top].named:
			levels[top].key, levels[top].named = token.(string), true // keys are always strings
		default:
			if top >= 0 {
				levels[top].named = false
				levels[top].index++
			}
			if reached {
				break
			}
			switch token {
			case json.Delim('{'):
				levels = append(levels, level{object: true})
			case json.Delim('['):
				levels = append(levels, level{index: -1})
			}
		}
		if reached {
			return pathOf(levels)
		}
	}
}

func pathOf(levels []level) string {
	var path strings.Builder
	for _, l := range levels {
		switch {
		case l.object && l.key != "":
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(l.key)
		case !l.object && l.index >= 0:
			path.WriteString("[" + strconv.Itoa(l.index) + "]")
		}
	}
	return clip(path.String())
}

// fieldOf returns the field at a path in a message. If the path leads to an element of a list, it
// returns the list field, and element is true. If the path leads to an entry of a map, whose key may
// contain dots, it returns the field of the value. It returns nil for the message itself and for an
// unknown path.
func fieldOf(message protoreflect.MessageDescriptor, path string) (field protoreflect.FieldDescriptor, element bool) {
	if path == "" {
		return nil, false
	}
	for part := range strings.SplitSeq(path, ".") {
		if message == nil {
			return nil, false
		}
		if field != nil && field.IsMap() {
			return field.MapValue(), false
		}
		var name string
		name, _, element = strings.Cut(part, "[")
		if field = message.Fields().ByTextName(name); field == nil {
			field = message.Fields().ByJSONName(name)
		}
		if field == nil {
			return nil, false
		}
		message = field.Message()
	}
	return field, element
}
