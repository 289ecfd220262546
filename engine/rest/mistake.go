package rest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const seeOpenAPI = "GET /openapi.json lists the fields"

// position is how protojson says where it stopped.
var position = regexp.MustCompile(`\(line (\d+):(\d+)\):? ?`)

// jsonError says what is wrong in a body: it names the field by its path, and repeats little of the body.
func jsonError(data []byte, err error) error {
	// The space after "proto:" is of one kind or another: protojson asks not to be relied on.
	problem := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	at, where := len(data), ""
	if m := position.FindStringSubmatchIndex(problem); m != nil {
		line, column := problem[m[2]:m[3]], problem[m[4]:m[5]]
		at, where = offsetOf(data, line, column), " (line "+line+", column "+column+")"
		problem = problem[:m[0]] + problem[m[1]:]
	}
	problem = clip(problem) + where
	if strings.HasPrefix(problem, "unknown field") {
		problem += ": " + seeOpenAPI
	}
	field := fieldAt(data, at)
	if field == "" {
		return status.Errorf(codes.InvalidArgument, "the body: %s", problem)
	}
	return fieldError(field, problem)
}

// offsetOf returns the offset of a line and column, both from 1; a column is a character.
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

// level is an object or an array that is not closed yet.
type level struct {
	object bool
	key    string // of an object: whose value comes or came
	named  bool   // of an object: the key was read, its value was not
	index  int    // of an array: of the element that came last; -1 before the first
}

// fieldAt returns the path of what is at an offset of a JSON text, like "tasks[2].queue"; "" at the top. It reads
// as far as the text is JSON.
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

// queryMistake is how the gateway says what is wrong in a query.
var queryMistake = regexp.MustCompile(`^(?:parsing (?:field|list)|too many values for field|invalid path:) "([^"]+)":? ?(.*)`)

// queryError names the field, if the gateway's error is one of the query.
func queryError(err error) error {
	s := status.Convert(err)
	if m := queryMistake.FindStringSubmatch(s.Message()); m != nil && s.Code() == codes.InvalidArgument && len(s.Details()) == 0 {
		return fieldError(m[1], clip(m[0])+": "+seeOpenAPI)
	}
	return err
}
