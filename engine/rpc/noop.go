package rpc

// noop passes an empty frame to a shard's deciding goroutine. That goroutine stores nothing, and
// the answer has no ids. Only builds with the tag serialbudget accept empty frames.
func (p *produceStream) noop(frame uint64) {
	fail := func(err error) {
		select {
		case p.failed <- err:
		default:
		}
	}
	if err := p.service.shards.Noop(func(err error) {
		if err != nil {
			fail(err)
			return
		}
		p.out.put(produceItem{frame: frame})
	}); err != nil {
		fail(err)
	}
}
