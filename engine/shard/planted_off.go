//go:build !planted

package shard

import "github.com/pronybench/prony/engine/storage"

type batch = storage.Batch

func plantedBatch(b *storage.Batch) *batch { return b }
