// Command schema writes the JSON Schemas of the documents that Prony stores and prints, from the
// types of package result and the comments on them. `make generate` runs it in the module's folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/pronybench/prony/harness/result"
)

// Paths of the types' source and of the schemas, relative to the module's folder.
const (
	sourceDir = "result"
	schemaDir = "result/schema"
)

// documents are the documents with a schema.
var documents = []struct {
	name, title string
	of          reflect.Type
}{
	{"result", "result.json of a run folder: one run of one scenario", reflect.TypeFor[result.Result]()},
	{"manifest", "manifest.json of a run folder: what was measured, and on what", reflect.TypeFor[result.Manifest]()},
	{"rounds", "rounds.json of a run folder: the rounds so far of a run that may not have ended", reflect.TypeFor[result.RoundsDocument]()},
	{"comparison", "comparison.json of a comparison's folder: a change against its base", reflect.TypeFor[result.Comparison]()},
	{"duet", "duet.json of a comparison's folder: what two builds measured beside each other", reflect.TypeFor[result.Duet]()},
	{"ratchet", "ratchet.json of a ratchet's folder: whether a change is kept", reflect.TypeFor[result.Ratchet]()},
	{"soak", "soak.json of a soak's folder: servers that stayed up while one window followed the other", reflect.TypeFor[result.Soak]()},
	{"serial", "serial.json of a serial budget's folder: how much work for each request the deciding goroutine bears", reflect.TypeFor[result.Serial]()},
	{"document", "what prony run, check and report print with --json", reflect.TypeFor[result.Document]()},
}

func main() {
	if err := write(sourceDir, schemaDir); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func write(source, dir string) error {
	schemas, err := generate(source)
	if err != nil {
		return err
	}
	for name, text := range schemas {
		if err := result.WriteFile(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

func generate(source string) (map[string][]byte, error) {
	c, err := readComments(source)
	if err != nil {
		return nil, err
	}
	schemas := make(map[string][]byte, len(documents))
	for _, d := range documents {
		text, err := newGenerator(c).document(d.name, d.title, d.of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		schemas[d.name+".json"] = text
	}
	return schemas, nil
}
