// Package schema embeds the JSON Schemas of the documents that Prony stores and prints. cmd/schema
// generates them from the types of package result. `make generate` updates them, and a test fails
// if they are out of date.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names returns the sorted names of the documents with a schema: "comparison", "document", "duet",
// "manifest", "ratchet", "result", "rounds", "serial" and "soak".
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

// Get returns the schema of the named document as text. It fails for an unknown name.
func Get(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".json")
	if err != nil {
		return nil, fmt.Errorf("there is no schema of %q: there are those of %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}
