// Command openapi31 writes each OpenAPI 2.0 description in a folder, NAME.swagger.json, again as
// OpenAPI 3.1, NAME.openapi.json.
//
// protoc-gen-openapiv2 makes the 2.0 descriptions. A conversion keeps the two versions equal:
// paths, fields, texts and errors have one source, which is the .proto files and
// engine/proto/openapi.yaml.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
)

// version is that of the specification which the written descriptions follow.
const version = "3.1.1"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapi31 FOLDER")
		os.Exit(2)
	}
	if err := convertAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi31:", err)
		os.Exit(1)
	}
}

// convertAll converts the descriptions in a folder and its subfolders. It fails if it finds no
// description.
func convertAll(folder string) error {
	found := false
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		name, is := strings.CutSuffix(path, ".swagger.json")
		if err != nil || !is {
			return err
		}
		found = true
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text, err = convert(text); err != nil {
			return fmt.Errorf("convert %s: %w", path, err)
		}
		return os.WriteFile(name+".openapi.json", text, 0o644)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no *.swagger.json", folder)
	}
	return err
}

// convert returns a description in OpenAPI 2.0 as one in OpenAPI 3.1.
func convert(text []byte) ([]byte, error) {
	var two openapi2.T
	if err := json.Unmarshal(text, &two); err != nil {
		return nil, err
	}
	three, err := openapi2conv.ToV3(&two)
	if err != nil {
		return nil, err
	}
	three.OpenAPI = version
	bearer, ok := three.Components.SecuritySchemes["bearer"]
	if !ok {
		return nil, errors.New("it has no security scheme bearer")
	}
	// OpenAPI 2.0 has no such scheme and calls it a key in a header.
	bearer.Value = openapi3.NewSecurityScheme().WithType("http").WithScheme("bearer").
		WithDescription("The secret of an access token. A server with --auth off asks for none.")
	for _, item := range three.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody != nil {
				op.RequestBody.Value.Extensions = nil // the library notes what OpenAPI 2.0 called the body
			}
		}
	}
	for _, s := range three.Components.Schemas {
		bytesAsBase64(s)
	}
	return write(text, three)
}

// bytesAsBase64 sets the content encoding of a schema's bytes fields to base64, because OpenAPI 3.1
// does not define the format byte.
func bytesAsBase64(s *openapi3.SchemaRef) {
	if s == nil || s.Ref != "" {
		return
	}
	if s.Value.Format == "byte" {
		s.Value.Format, s.Value.ContentEncoding = "", "base64"
	}
	bytesAsBase64(s.Value.Items)
	bytesAsBase64(s.Value.AdditionalProperties.Schema)
	for _, p := range s.Value.Properties {
		bytesAsBase64(p)
	}
}

// object is a JSON object.
type object = map[string]any

// write returns the JSON of a description, with the descriptions of fields that are messages. The
// library omits them because OpenAPI before 3.1 ignores siblings of $ref.
func write(source []byte, three *openapi3.T) ([]byte, error) {
	var two struct {
		Definitions map[string]struct {
			Properties map[string]struct {
				Ref         string `json:"$ref"`
				Description string `json:"description"`
			} `json:"properties"`
		} `json:"definitions"`
	}
	if err := json.Unmarshal(source, &two); err != nil {
		return nil, err
	}
	text, err := json.Marshal(three)
	if err != nil {
		return nil, err
	}
	var out object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	schemas := out["components"].(object)["schemas"].(object)
	for message, definition := range two.Definitions {
		for field, p := range definition.Properties {
			if p.Ref != "" && p.Description != "" {
				schemas[message].(object)["properties"].(object)[field].(object)["description"] = p.Description
			}
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(out); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
