package rest

import _ "embed" // the OpenAPI files

// openAPI maps the paths of a service's OpenAPI descriptions to the content of the descriptions.
type openAPI map[string][]byte

// These are the paths of the descriptions in OpenAPI 2.0 and OpenAPI 3.1.
const (
	openAPI2Path  = "/openapi.json"
	openAPI31Path = "/openapi-3.1.json"
)

var (
	//go:embed openapi/prony/queue/v1/queue.swagger.json
	queueOpenAPI2 []byte
	//go:embed openapi/prony/queue/v1/queue.openapi.json
	queueOpenAPI31 []byte
	//go:embed openapi/prony/admin/v1/admin.swagger.json
	adminOpenAPI2 []byte
	//go:embed openapi/prony/admin/v1/admin.openapi.json
	adminOpenAPI31 []byte

	queueOpenAPI = openAPI{openAPI2Path: queueOpenAPI2, openAPI31Path: queueOpenAPI31}
	adminOpenAPI = openAPI{openAPI2Path: adminOpenAPI2, openAPI31Path: adminOpenAPI31}
)

// OpenAPIPaths returns the paths of a handler's OpenAPI descriptions. Requests for them need no
// token.
func OpenAPIPaths() []string { return []string{openAPI2Path, openAPI31Path} }
