package rest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// value describes what the value of a field must be and what a request contains instead. text is
// the JSON text that starts with that value. field is nil for the message itself. element is true
// if the value is an element of the list that the field contains.
func (m mistakes) value(field protoreflect.FieldDescriptor, element bool, text []byte) string {
	got, quoted, isText := valueOf(text)
	if isText && field != nil && field.Kind() == protoreflect.BytesKind && (element || !field.IsList()) {
		if problem := base64Mistake(quoted); problem != "" {
			return problem
		}
	}
	return fmt.Sprintf("must be %s, not %s", m.expected(field, element), got)
}

// valueOf describes the value at the start of a JSON text. If it is a string, valueOf also returns
// its content.
func valueOf(data []byte) (description, text string, isText bool) {
	switch {
	case len(data) == 0:
		return "nothing", "", false
	case data[0] == '{':
		return "an object", "", false
	case data[0] == '[':
		return "an array", "", false
	case data[0] == '"':
		end := textEnd(data, 1)
		if end > 0 && json.Unmarshal(data[:end+1], &text) == nil {
			return clip(string(data[:end+1])), text, true
		}
	}
	end := strings.IndexAny(string(data[:min(len(data), textBytesMax)]), ",]} \t\r\n")
	if end < 0 {
		end = len(data)
	}
	return clip(string(data[:end])), "", false
}

// expected describes the valid values of a field, or of an element of its list.
func (m mistakes) expected(field protoreflect.FieldDescriptor, element bool) string {
	switch {
	case field == nil:
		return "an object"
	case field.IsList() && !element:
		return "an array"
	}
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return "an object"
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.BytesKind:
		return "a string in base64"
	case protoreflect.EnumKind:
		return oneOf(field.Enum())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	default:
		return m.number(field)
	}
}

func (m mistakes) number(field protoreflect.FieldDescriptor) string {
	if m.ranges != nil {
		if least, most, ok := m.ranges(string(field.Name())); ok {
			return fmt.Sprintf("a whole number from %d to %d", least, most)
		}
	}
	least, most := numbersOf(field.Kind())
	return fmt.Sprintf("a whole number from %d to %d", least, most)
}

func bitsOf(kind protoreflect.Kind) int {
	if _, most := numbersOf(kind); most > math.MaxUint32 {
		return 64
	}
	return 32
}

func numbersOf(kind protoreflect.Kind) (least int64, most uint64) {
	switch kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return 0, math.MaxUint32
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return math.MinInt32, math.MaxInt32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return math.MinInt64, math.MaxInt64
	default:
		return 0, math.MaxUint64
	}
}

func oneOf(enum protoreflect.EnumDescriptor) string {
	var names []string
	for i := range enum.Values().Len() {
		if v := enum.Values().Get(i); v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// base64Mistake returns the reason why protojson refuses a text as base64, or "".
func base64Mistake(text string) string {
	encoding := base64.StdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if len(text)%4 != 0 {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	_, err := encoding.DecodeString(text)
	var at base64.CorruptInputError
	if !errors.As(err, &at) {
		return ""
	}
	const must = "must be base64: "
	bad, _ := utf8.DecodeRuneInString(text[min(int(at), len(text)):])
	switch {
	case int(at) < len(text) && bad == '=':
		return must + fmt.Sprintf("the padding \"=\" at offset %d of the text does not fit its length", at)
	case int(at) < len(text) && !strings.ContainsRune(base64Characters, bad):
		return must + fmt.Sprintf("the character %q at offset %d of the text is not in the base64 alphabet", bad, at)
	case strings.ContainsAny(text, "-_") && strings.ContainsAny(text, "+/"):
		return must + fmt.Sprintf("the character %q at offset %d of the text belongs to the other alphabet: the text mixes + or / with - or _", bad, at)
	}
	return must + fmt.Sprintf("the text ends at offset %d within a group of 4 characters: was it cut?", len(text))
}

const base64Characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"

// parameter describes the problem with the value of a query parameter, or returns "".
func (m mistakes) parameter(field protoreflect.FieldDescriptor, value string) string {
	var err error
	switch least, _ := numbersOf(field.Kind()); field.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return ""
	case protoreflect.BoolKind:
		_, err = strconv.ParseBool(value)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		_, err = strconv.ParseFloat(value, 64)
	case protoreflect.EnumKind:
		if field.Enum().Values().ByName(protoreflect.Name(value)) == nil {
			_, err = strconv.ParseInt(value, 10, 32)
		}
	default:
		if least < 0 {
			_, err = strconv.ParseInt(value, 10, bitsOf(field.Kind()))
		} else {
			_, err = strconv.ParseUint(value, 10, bitsOf(field.Kind()))
		}
	}
	if err == nil {
		return ""
	}
	return fmt.Sprintf("must be %s, not %s", m.expected(field, true), strconv.Quote(clip(value)))
}
