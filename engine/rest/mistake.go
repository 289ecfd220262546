package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const seeOpenAPI = "GET /openapi.json lists the fields"

// mistakes creates errors that explain an invalid request to its client. The errors contain the
// path of the invalid field and repeat only little of the request.
type mistakes struct {
	// ranges returns the smallest and largest value of a numeric field by its name. If ranges is
	// nil, numbers have the ranges of their types.
	ranges func(field string) (least, most uint64, ok bool)
}

// position matches the position in protojson's errors.
var position = regexp.MustCompile(`\(line (\d+):(\d+)\):? ?`)

// body returns the error for a body that is not the JSON form of the message. err is the error that
// protojson returned.
func (m mistakes) body(data []byte, message protoreflect.MessageDescriptor, err error) error {
	if at, problem := syntaxMistake(data); problem != "" {
		return m.at(data, at, "the JSON is malformed: "+problem)
	}
	// protojson varies the space after "proto:", so that programs do not rely on its error texts.
	problem := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	at := -1
	if found := position.FindStringSubmatchIndex(problem); found != nil {
		at = offsetOf(data, problem[found[2]:found[3]], problem[found[4]:found[5]])
		problem = problem[:found[0]] + problem[found[1]:]
	}
	problem = clip(strings.TrimPrefix(problem, "syntax error "))
	if at < 0 {
		return status.Errorf(codes.InvalidArgument, "the body: %s", problem)
	}
	switch path := fieldAt(data, at); {
	case strings.HasPrefix(problem, "unknown field"):
		return m.at(data, at, problem+": "+seeOpenAPI)
	case strings.HasPrefix(problem, "unexpected token"), strings.HasPrefix(problem, "invalid value"):
		field, element := fieldOf(message, path)
		return m.at(data, at, m.value(field, element, data[at:]))
	}
	return m.at(data, at, problem)
}

// at returns the error for a body with a problem at the given offset.
func (m mistakes) at(data []byte, offset int, problem string) error {
	line, column := lineOf(data, offset)
	problem = fmt.Sprintf("%s (line %d, column %d, offset %d)", problem, line, column, offset)
	if field := fieldAt(data, offset); field != "" {
		return fieldError(field, problem)
	}
	return status.Errorf(codes.InvalidArgument, "the body: %s", problem)
}

// syntaxMistake returns the offset of the first syntax error in a JSON text and its description. If
// there is no error, problem is "".
func syntaxMistake(data []byte) (offset int, problem string) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	err := d.SkipValue()
	var mistake *jsontext.SyntacticError
	switch {
	case err == nil:
		rest := bytes.TrimLeft(data[d.InputOffset():], " \t\r\n")
		if len(rest) == 0 {
			return 0, ""
		}
		next, _ := utf8.DecodeRune(rest)
		return len(data) - len(rest), fmt.Sprintf("invalid character %q after the object", next)
	case errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &mistake):
		return len(data), "it ends early"
	}
	offset = int(mistake.ByteOffset)
	// The next token should be a name or the end of the object.
	if kind, length := d.StackIndex(d.StackDepth()); kind == '{' && length%2 == 0 {
		if from, word := wordAt(data, offset); word != "" {
			return from, fmt.Sprintf("the name %s must be in double quotes", clip(word))
		}
	}
	return offset, mistake.Err.Error()
}

// wordAt returns the word around an offset and the word's start, or "" if there is no word. Words
// contain neither spaces nor structural characters of JSON.
func wordAt(data []byte, offset int) (from int, word string) {
	isWord := func(b byte) bool { return b > ' ' && strings.IndexByte(`{}[]:,"`, b) < 0 }
	from, end := offset, offset
	for from > 0 && isWord(data[from-1]) {
		from--
	}
	for end < len(data) && isWord(data[end]) {
		end++
	}
	return from, string(data[from:end])
}

// lineOf returns the line and column of an offset. Both start at 1, and columns count characters.
func lineOf(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

func offsetOf(data []byte, line, column string) int {
	lines, _ := strconv.Atoi(line)
	columns, _ := strconv.Atoi(column)
	at := 0
	for ; lines > 1; lines-- {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return len(data)
		}
		at += end + 1
	}
	for i := range string(data[at:]) {
		if columns--; columns <= 0 {
			return at + i
		}
	}
	return len(data)
}

// query refuses query parameters that are not fields of the request message, and values of the
// wrong type. The generated code would ignore unknown parameters.
func (m mistakes) query(r *route, u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	for name, values := range u.Query() {
		field := r.parameter(name)
		if field == nil {
			return fieldError(name, "is not a parameter of this call: GET /openapi.json lists them")
		}
		if len(values) > 1 && !field.IsList() {
			return fieldError(name, fmt.Sprintf("occurs %d times: pass it once", len(values)))
		}
		for _, value := range values {
			if problem := m.parameter(field, value); problem != "" {
				return fieldError(name, problem)
			}
		}
	}
	return nil
}

// queryMistake matches errors of the gateway about a query.
var queryMistake = regexp.MustCompile(`^(?:parsing (?:field|list)|too many values for field|invalid path:) "([^"]+)":? ?(.*)`)

// queryError converts an error of the gateway about a query to one that names the field. It returns
// other errors unchanged.
func queryError(err error) error {
	s := status.Convert(err)
	if m := queryMistake.FindStringSubmatch(s.Message()); m != nil && s.Code() == codes.InvalidArgument && len(s.Details()) == 0 {
		return fieldError(m[1], clip(m[0])+": "+seeOpenAPI)
	}
	return err
}
