package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CheckValue says what is wrong with the value of a setting, by its path, and how to mend it, as far as the setting alone tells. The message is ""
// if nothing is wrong. It is for programs that start a server with settings which they do not know themselves.
func CheckValue(path, text string) (message, remedy string) {
	table := Table(Default())
	i := slices.IndexFunc(table, func(s *Setting) bool { return s.Path == path })
	if i < 0 {
		return fmt.Sprintf("the server has no setting %q", path), suggestPath(path, table)
	}
	if err := table[i].value.set([]string{text}); err != nil {
		return fmt.Sprintf("the setting %s %s %s", path, strconv.Quote(text), err), ""
	}
	return "", ""
}

// suggestPath returns what was probably meant by a path that no setting has.
func suggestPath(path string, table []*Setting) string {
	var paths []string
	last := path[strings.LastIndexByte(path, '.')+1:]
	for _, s := range table {
		if s.Path[strings.LastIndexByte(s.Path, '.')+1:] == last {
			return "did you mean " + s.Path + "?"
		}
		paths = append(paths, s.Path)
	}
	if meant := Nearest(path, paths); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "'queued config show' lists the settings"
}
