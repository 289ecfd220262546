package rest

import _ "embed" // the OpenAPI files

// queueOpenAPI and adminOpenAPI describe the two services in OpenAPI 2.
var (
	//go:embed openapi/prony/queue/v1/queue.swagger.json
	queueOpenAPI []byte
	//go:embed openapi/prony/admin/v1/admin.swagger.json
	adminOpenAPI []byte
)
