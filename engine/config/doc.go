// Package config reads what a server is configured with: flags, the environment and one HCL file, in this order of
// precedence, over defaults.
//
// One table, in table.go, names every setting. From it follow the flags, the environment variables, the names that
// the file may hold and the documentation, so that none of them can differ from another. Nothing is read leniently:
// an unknown name, a value of the wrong kind or out of its range is a problem, and all problems of all sources are
// reported together, each with its place and, where a name is misspelt, the one that was probably meant.
package config
