package result

// TurnLimitMs is the longest acceptable turn: a command of one tenant waits for the current turn to
// end.
const TurnLimitMs = 2

// Turns are the turns of the shards' deciding goroutines in a round's window, over all nodes and
// shards. A shard takes no command during a turn.
type Turns struct {
	Count    uint64 `json:"count"`
	Above2Ms uint64 `json:"above_2ms"` // number of turns longer than 2 ms
	// MsMax is the upper bound of the highest non-empty bucket of the servers' histogram. Unless it
	// is the last bound, no turn took longer.
	MsMax float64 `json:"ms_max"`
	// ItemsMax is the largest number of tasks, leases, waiters and queues that one turn handled,
	// including turns of the warm-up.
	ItemsMax uint64 `json:"items_max"`
}

func (t Turns) plus(o Turns) Turns {
	return Turns{
		Count: t.Count + o.Count, Above2Ms: t.Above2Ms + o.Above2Ms,
		MsMax: max(t.MsMax, o.MsMax), ItemsMax: max(t.ItemsMax, o.ItemsMax),
	}
}

func (t Turns) metrics() map[string]float64 {
	return map[string]float64{
		ShardTurnsAbove2MsRatio: float64(t.Above2Ms) / float64(max(1, t.Count)),
		ShardTurnMsMax:          t.MsMax,
		ShardTurnItemsMax:       float64(t.ItemsMax),
	}
}

func mergeTurns(rounds []Round) Turns {
	var all Turns
	for _, r := range rounds {
		if r.Turns != nil {
			all = all.plus(*r.Turns)
		}
	}
	return all
}
