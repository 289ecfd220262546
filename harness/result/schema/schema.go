// Package schema holds the JSON Schemas of the documents that Prony stores and prints. They are generated from the types
// of package result by cmd/schema: `make generate` writes them again, and a test fails where they are not up to date.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names returns the names of the documents that have a schema, sorted: "comparison", "document", "duet", "manifest", "ratchet",
// "result", "rounds", "serial" and "soak".
func Names() []string {
	paths, err := fs.Glob(files, "*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i := range paths {
		paths[i] = strings.TrimSuffix(paths[i], ".json")
	}
	return paths
}

// Get returns the schema of the document of that name, as text. It is an error where there is none.
func Get(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no schema of %q: there are those of %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}
