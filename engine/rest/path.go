package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// level is an object or array that is still open.
type level struct {
	object bool
	key    string // of an object: the current key
	named  bool   // of an object: the key was read, but not yet its value
	index  int    // of an array: the index of the latest element; -1 before the first
}

// fieldAt returns the path of the value at an offset of a JSON text, such as "tasks[2].queue"; ""
// at the top level. It reads the text up to its first syntax error.
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
			levels[top].key, levels[top].named = token.(string), true // Token returns no other key
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

// fieldOf returns the field at a path of a message, and whether the path is an element of that list
// field. It returns nil for the message itself and for an unknown path.
func fieldOf(message protoreflect.MessageDescriptor, path string) (field protoreflect.FieldDescriptor, element bool) {
	if path == "" {
		return nil, false
	}
	for part := range strings.SplitSeq(path, ".") {
		if message == nil {
			return nil, false
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
