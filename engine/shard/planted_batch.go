//go:build planted

package shard

import "github.com/pronybench/prony/engine/storage"

type batch = storage.PlantedBatch

func plantedBatch(b *storage.Batch) *batch { return &batch{Batch: b} }
