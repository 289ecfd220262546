package planted

// These are the names of the faults that make the engine wrong. They are arguments of Hits.
const (
	Lost        = "lost"
	Dropped     = "dropped"
	Again       = "again"
	Twice       = "twice"
	Stranger    = "stranger"
	Read        = "read"
	List        = "list"
	Stats       = "stats"
	Await       = "await"
	Reversed    = "reversed"
	Flipped     = "flipped"
	Forgotten   = "forgotten"
	Unsynced    = "unsynced"
	Early       = "early"
	Doubled     = "doubled"
	Skipped     = "skipped"
	Uncancelled = "uncancelled"
	Relabelled  = "relabelled"
	Hasty       = "hasty"
)
