package config

import (
	"fmt"
	"strings"
)

// Markdown returns the documentation of all settings, with one table for each group.
func Markdown() string {
	var b strings.Builder
	settings := NewLoader().Settings()
	for _, group := range Groups() {
		fmt.Fprintf(&b, "| %s | in the file | default | meaning |\n| --- | --- | --- | --- |\n", strings.ToLower(group))
		for _, s := range settings {
			if s.Group != group {
				continue
			}
			file, def := "`"+s.Path+"`", ""
			if s.NotInFile {
				file = "no"
			} else if block, attribute, inner := strings.Cut(s.Path, "."); inner {
				file = fmt.Sprintf("`%s { %s }`", block, attribute)
			}
			if v := s.Value(); v != "" {
				def = "`" + v + "`"
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", s.Flag(), file, def, s.Usage)
		}
		b.WriteString("\n")
	}
	return b.String()
}
