//go:build !planted

package shard

import "github.com/pronybench/prony/engine/storage"

type batch = storage.Batch

func plantedBatch(b *storage.Batch) *batch { return b }

func plantedDecide(*decider, command) {}

func plantedSent(int) {}

func plantedAnswer(p *publisher, t *turn) { p.answer(t) }

func plantedGrowth(err error) error { return err }

func plantedCancel() bool { return false }
