package shard

import "github.com/pronybench/prony/engine/storage"

// PutSystem stores records of the node's own, in the first shard; a nil value removes one.
func (g *Group) PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error {
	return g.shards[0].PutSystem(records, reply)
}

// System reads the node's own records.
func (g *Group) System() ([]storage.SystemRecord, error) { return g.shards[0].System() }
