package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CheckValue checks whether text is a valid value of the setting with the given path. It does not
// consider the values of other settings. It returns the problem and a remedy; message is "" if the
// value is valid. It is for programs that start a server with settings that they do not interpret.
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
