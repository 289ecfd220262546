package memory

// The shares of a server without a memory bound. The published figures were measured with them.
const (
	memTableBytes    = 64 << 20 // of the only store of a server; a store has up to four memtables
	memTableSmall    = 2 << 20  // of each store of a server with many
	memTableLeast    = 512 << 10
	logMemTableBytes = 128 << 20
	blockCacheBytes  = 32 << 20
	keyFilterBytes   = 64 << 20
	payloadBytes     = 64 << 20
	windowTasks      = 1 << 20
	queues           = 100_000 // of each shard
	inboxBytes       = 64 << 20
	connBufferBytes  = 64 << 10
	streamWindow     = 1 << 20
	connWindow       = 4 << 20
	messageBytes     = 16 << 20
	requestBytes     = 1 << 30
	outboxBytes      = 4 << 30
	claimBytes       = 3 << 20 // less than 4 MiB, the default message limit of a gRPC client
	connections      = 1 << 16
	calls            = 1 << 16
)

// The memory of single objects, measured or bounded from above.
const (
	// programBytes is the memory of an empty server: the program, the Go runtime and Pebble.
	programBytes = 64 << 20
	// programTextBytes is the part of programBytes for the executable, when all its pages are
	// resident.
	programTextBytes = 40 << 20
	// queueBytes is the memory of a queue that has been used.
	queueBytes = 3 << 10
	// windowTaskBytes is the memory of a task in a window, without its payload.
	windowTaskBytes = 128
	// connBytes is the memory of a connection without its buffers; callBytes that of a call or
	// stream without its messages.
	connBytes = 32 << 10
	callBytes = 24 << 10
	// MessageFactor is the memory of a request while it is decoded and processed, as a multiple of
	// its encoded size: the buffers it was read into, their concatenation, and the decoded message.
	MessageFactor = 3
	// goPercent of the total is the threshold above which the runtime collects garbage more often.
	// It includes memory outside the Go heap.
	goPercent = 84
	// memTablesMax and logMemTablesMax are the maximum numbers of memtables of a store and of the
	// Raft logs.
	memTablesMax, logMemTablesMax = 4, 2
	// youngPart is the ratio of a memtable's size to the bound on the records that are in the log
	// only.
	youngPart = 2
	// youngWrites is the number of times that a start after a crash writes these records before it
	// removes their logs.
	youngWrites = 2
)

// LimitMemTables lowers the memtable sizes so that LoggedBytes returns at most the given number of
// bytes for the shards of a single server. It leaves each memtable at least 512 KiB.
func (s *Shares) LimitMemTables(bytes int64, shards int) {
	s.MemTableBytes = min(s.MemTableBytes, max(memTableLeast, bytes*youngPart/(memTablesMax*youngPart+youngWrites)/int64(max(1, shards))))
	s.YoungBytes = min(s.YoungBytes, s.MemTableBytes/youngPart)
}

// LoggedBytes bounds the bytes that the stores with a log write when they open after a crash,
// before they remove their logs: their memtables to tables, and the records that are in the log
// only to a file and to a new log. In a cluster only the Raft logs have a log.
func (s *Shares) LoggedBytes(shards int, clustered bool) int64 {
	if clustered {
		return logMemTablesMax * s.LogMemTableBytes
	}
	return (memTablesMax*s.MemTableBytes + youngWrites*s.YoungBytes) * int64(max(1, shards))
}

// Shares has the limit of each part of a server.
type Shares struct {
	// Total bounds the resident memory of the process; 0 means no bound.
	Total int64
	// GoBytes is the Go runtime's part of Total, for GOMEMLIMIT; 0 means no bound.
	GoBytes int64

	MemTableBytes    int64 // of each memtable of each shard
	YoungBytes       int64 // of records that are in the log only, of each shard
	LogMemTableBytes int64 // of each memtable of the Raft logs
	BlockCacheBytes  int64 // of all shards
	KeyFilterBytes   int64 // of the filters of idempotency keys, in all shards
	PayloadBytes     int64 // of payloads of tasks in windows, in all shards
	WindowTasks      int   // in the windows of all shards
	Queues           int   // of each shard
	InboxBytes       int64 // of payloads of waiting commands, in all shards

	RequestBytes int64 // of requests being read, decoded and decided
	MessageBytes int   // of one request, encoded
	OutboxBytes  int64 // of answers and stream messages that clients have not read yet
	ClaimBytes   int64 // of the answer to one claim, approximately; one task always fits

	Connections     int
	ConnBufferBytes int // of a connection's read buffer, and of its write buffer
	StreamWindow    int // of HTTP/2's flow control
	ConnWindow      int
	Calls           int // calls and streams under way
}

// The shares in percent of the memory that remains after programBytes. The remainder is for garbage
// that is not collected yet.
const (
	partMemTables   = 20 // in C memory, with the block cache
	partBlockCache  = 4
	partKeyFilters  = 3
	partPayloads    = 8
	partQueues      = 8
	partWindows     = 7
	partInboxes     = 8
	partRequests    = 14
	partOutboxes    = 8
	partConnections = 6
	partCalls       = 8
)

// SharesOf divides total bytes among the parts of a server with the given number of shards. No
// share exceeds the one used to measure the published figures; with a total of 0, each
// share equals it. clustered means that the server has Raft logs.
func SharesOf(total int64, shards int, clustered bool) Shares {
	n := int64(max(1, shards))
	left := max(0, total-programBytes)
	if total == 0 {
		left = 1 << 50
	}
	part := func(hundredths, least, most int64) int64 { return max(least, min(most, left/100*hundredths)) }
	s := Shares{Total: total}

	tables := int64(partMemTables)
	if clustered {
		tables /= 2
		s.LogMemTableBytes = part(tables, 2<<20, logMemTableBytes*logMemTablesMax) / logMemTablesMax
	}
	share := part(tables, 0, 1<<50) / n / memTablesMax
	share = share * memTablesMax * youngPart / (memTablesMax*youngPart + 1)
	s.MemTableBytes = max(min(share, memTableBytes/n), min(share, memTableSmall), memTableLeast)
	s.YoungBytes = s.MemTableBytes / youngPart
	s.BlockCacheBytes = part(partBlockCache, 1<<20, blockCacheBytes)
	s.KeyFilterBytes = part(partKeyFilters, 0, keyFilterBytes)
	s.PayloadBytes = part(partPayloads, 1<<20, payloadBytes)
	s.WindowTasks = int(part(partWindows, 4_096*windowTaskBytes, windowTasks*windowTaskBytes) / windowTaskBytes)
	s.InboxBytes = part(partInboxes, 1<<20, inboxBytes)
	s.RequestBytes = part(partRequests, 4<<20, requestBytes)
	s.MessageBytes = int(min(messageBytes, s.RequestBytes/MessageFactor))
	s.OutboxBytes = part(partOutboxes, 4<<20, outboxBytes)
	s.Queues = int(part(partQueues, 250*queueBytes*n, queues*queueBytes*n) / queueBytes / n)

	s.ConnBufferBytes, s.StreamWindow, s.ConnWindow = connBufferBytes, streamWindow, connWindow
	if left < 1<<30 { // many connections matter more than the peak throughput of one
		s.ConnBufferBytes, s.StreamWindow, s.ConnWindow = 16<<10, 128<<10, 512<<10
	}
	conn := int64(connBytes + s.ConnBufferBytes) // an idle connection has no read buffer
	s.Connections = int(part(partConnections, 16*conn, connections*conn) / conn)
	s.Calls = int(part(partCalls, 64*callBytes, calls*callBytes) / callBytes)
	s.ClaimBytes = claimBytes
	if left < 1<<30 { // all calls may be claims that are granted simultaneously
		s.ClaimBytes = max(64<<10, min(claimBytes, 4*s.OutboxBytes/int64(s.Calls)))
	}
	if total > 0 {
		s.GoBytes = max(total/4, s.goBytes(n))
	}
	return s
}

// goBytes returns the bytes that remain for the Go runtime after the memory outside the Go heap.
func (s *Shares) goBytes(shards int64) int64 {
	offHeap := memTablesMax*s.MemTableBytes*shards + logMemTablesMax*s.LogMemTableBytes + s.BlockCacheBytes
	return s.Total/100*goPercent - programTextBytes - offHeap
}
