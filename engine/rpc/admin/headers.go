package admin

import (
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
)

// headerMatch returns a function that reports whether a task has a kind and a header. It returns nil
// if every task matches: if kind is "" and there is no header. The errors name fields after prefix.
func headerMatch(prefix, kind string, header *adminpb.HeaderFilter) (func(*shard.Found) bool, *queue.FieldError) {
	has, bad := headersMatch(prefix, kind, header)
	if has == nil {
		return nil, bad
	}
	return func(t *shard.Found) bool {
		headers, _ := t.Task.Split()
		return has(headers)
	}, nil
}

// headersMatch is as headerMatch, but the function gets the headers of the task.
func headersMatch(prefix, kind string, header *adminpb.HeaderFilter) (func(queue.Headers) bool, *queue.FieldError) {
	want := map[string]string{}
	if header != nil {
		want[header.GetKey()] = header.GetValue()
		if bad := queue.CheckHeaders(want); bad != nil {
			return nil, &queue.FieldError{Field: prefix + "header", Problem: bad.Problem}
		}
	}
	if bad := queue.CheckHeaderValue(prefix+"kind", kind); bad != nil {
		return nil, bad
	}
	if kind == "" && header == nil {
		return nil, nil
	}
	return func(headers queue.Headers) bool {
		return (kind == "" || headers.Get(queue.KindHeader) == kind) && (header == nil || headers.Has(header.GetKey(), header.GetValue()))
	}, nil
}
