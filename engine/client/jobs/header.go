package jobs

import (
	"maps"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// KindHeader is the key of the header that contains the kind of a task.
const KindHeader = "kind"

// GroupHeader is the key of the header that names the group of a job: see Group.
const GroupHeader = "group"

func setHeader(t *client.Task, key, value string) {
	headers := maps.Clone(t.Headers) // the caller may use the map for several tasks
	if headers == nil {
		headers = map[string]string{}
	}
	headers[key] = value
	t.Headers = headers
}

// KindOf returns the kind of a task, or "" if it has none.
func KindOf(t *queuepb.Task) string { return t.GetHeaders()[KindHeader] }
