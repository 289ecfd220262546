// Command httprules writes the schema of google.api.http, which the engine's .proto files import,
// into a folder. It prints the descriptors that a Go module carries, so that generating and linting
// need the Go module proxy only, and the repository contains no copy of that schema.
package main

import (
	"fmt"
	"os"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: httprules FOLDER")
		os.Exit(2)
	}
	files := []protoreflect.FileDescriptor{annotations.File_google_api_annotations_proto, annotations.File_google_api_http_proto}
	if err := (&protoprint.Printer{}).PrintProtosToFileSystem(files, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "httprules:", err)
		os.Exit(1)
	}
}
