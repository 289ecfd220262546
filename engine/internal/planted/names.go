package planted

// Faults that make the engine wrong, for Hits.
const (
	Lost      = "lost"
	Dropped   = "dropped"
	Again     = "again"
	Twice     = "twice"
	Stranger  = "stranger"
	Read      = "read"
	List      = "list"
	Stats     = "stats"
	Await     = "await"
	Reversed  = "reversed"
	Flipped   = "flipped"
	Forgotten = "forgotten"
	Unsynced  = "unsynced"
	Early     = "early"
)
