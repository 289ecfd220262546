// Package config reads the configuration of a server. The sources are flags, environment variables,
// one HCL file and defaults, in descending order of precedence.
//
//	l := config.NewLoader()
//	l.AddFlags(cmd.Flags())                          // before the command line is parsed
//	loaded, err := l.Load(os.Environ(), others)      // err is a *Problems
//	node.Open(loaded.Config.Node)
//
// The table in table.go lists all settings. The flags, the environment variables, the names in the
// file and the documentation (Markdown) are derived from it. Reading is strict: an unknown name, a
// value of the wrong type and a value out of range are problems. Load reports the problems of all
// sources together. Each problem includes its place and, for a misspelt name, a suggestion.
//
// A Loader may be used for only one Load, and by only one goroutine.
package config
