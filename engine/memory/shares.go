package memory

// The shares of a server without a memory limit. The published figures were measured with these
// shares.
const (
	// memTableBytes applies if the server has a single store. A store has up to four memtables.
	memTableBytes    = 64 << 20
	memTableSmall    = 2 << 20 // applies to each store if the server has many stores
	memTableLeast    = 512 << 10
	logMemTableBytes = 128 << 20
	blockCacheBytes  = 32 << 20
	keyFilterBytes   = 64 << 20
	payloadBytes     = 64 << 20
	windowTasks      = 1 << 20
	queues           = 100_000 // per shard
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

// The memory of single objects: measured values or upper bounds.
const (
	// programBytes is the memory of an empty server: the program, the Go runtime and Pebble.
	programBytes = 64 << 20
	// programTextBytes is the part of programBytes that the executable occupies when all of its
	// pages are resident.
	programTextBytes = 40 << 20
	// queueBytes is the memory of a queue that was used.
	queueBytes = 3 << 10
	// windowTaskBytes is the memory of a task in a window, without its payload.
	windowTaskBytes = 128
	// connBytes is the memory of a connection without its buffers. callBytes is the memory of a
	// call or stream without its messages.
	connBytes = 32 << 10
	callBytes = 24 << 10
	// MessageFactor is the memory of a request while it is decoded and processed, as a multiple of
	// its encoded size. It includes the buffers that the request was read into, their
	// concatenation, and the decoded message.
	MessageFactor = 3
	// goPercent is the threshold, in percent of the total, above which the Go runtime collects
	// garbage more often. The threshold includes memory outside of the Go heap.
	goPercent = 84
	// memTablesMax and logMemTablesMax are the maximum numbers of memtables of a store and of the
	// Raft logs.
	memTablesMax, logMemTablesMax = 4, 2
	// youngPart is the ratio of a memtable's size to the limit of the records that are in the log
	// only.
	youngPart = 2
	// youngWrites is the number of times that a start after a crash writes these records before it
	// removes their logs.
	youngWrites = 2
)

// LimitMemTables reduces the memtable sizes of a server without a cluster, so that LoggedBytes
// returns at most the given number of bytes. It does not reduce a memtable below 512 KiB.
func (s *Shares) LimitMemTables(bytes int64, shards int) {
	s.MemTableBytes = min(s.MemTableBytes, max(memTableLeast, bytes*youngPart/(memTablesMax*youngPart+youngWrites)/int64(max(1, shards))))
	s.YoungBytes = min(s.YoungBytes, s.MemTableBytes/youngPart)
}

// LoggedBytes returns an upper bound of the bytes that stores write when they are opened after a
// crash, before they remove their logs. A store writes its memtables to tables, and the records
// that are in the log only to a file and to a new log. In a cluster, only the store of the Raft
// logs has such a log.
func (s *Shares) LoggedBytes(shards int, clustered bool) int64 {
	if clustered {
		return logMemTablesMax * s.LogMemTableBytes
	}
	return (memTablesMax*s.MemTableBytes + youngWrites*s.YoungBytes) * int64(max(1, shards))
}

// Shares contains the limit of each part of a server. Sizes are in bytes.
type Shares struct {
	// Total limits the resident memory of the process; 0 means no limit.
	Total int64
	// GoBytes is the Go runtime's part of Total, for GOMEMLIMIT; 0 means no limit.
	GoBytes int64

	MemTableBytes    int64 // size of each memtable of each shard
	YoungBytes       int64 // records of each shard that are in the log only
	LogMemTableBytes int64 // size of each memtable of the Raft logs
	BlockCacheBytes  int64 // block cache of all shards
	KeyFilterBytes   int64 // filters of idempotency keys in all shards
	PayloadBytes     int64 // payloads of tasks in the windows of all shards
	WindowTasks      int   // number of tasks in the windows of all shards
	Queues           int   // maximum number of queues per shard
	InboxBytes       int64 // payloads of waiting commands in all shards

	RequestBytes int64 // all requests that are being read, decoded and decided
	MessageBytes int   // maximum encoded size of one request
	OutboxBytes  int64 // answers and stream messages that clients have not read yet
	// ClaimBytes is the approximate limit of the answer to one claim. The answer always has room
	// for one task.
	ClaimBytes int64

	Connections     int
	ConnBufferBytes int // size of each of the two buffers of a connection
	StreamWindow    int // HTTP/2 flow-control window per stream
	ConnWindow      int
	Calls           int // number of calls and streams under way
}

// The shares in percent of the memory that remains after programBytes. The percentage that is not
// assigned is for garbage that is not collected yet.
const (
	partMemTables   = 20 // memtables and the block cache are in C memory
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

// SharesOf divides total bytes among the parts of a server with the given number of shards. If
// total is 0, there is no limit, and the shares are the same as in the measurements of the
// published figures. Otherwise no share is larger than those. clustered means that the server has
// Raft logs.
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
	if left < 1<<30 { // support many connections rather than the peak throughput of one connection
		s.ConnBufferBytes, s.StreamWindow, s.ConnWindow = 16<<10, 128<<10, 512<<10
	}
	conn := int64(connBytes + s.ConnBufferBytes) // an idle connection has no read buffer
	s.Connections = int(part(partConnections, 16*conn, connections*conn) / conn)
	s.Calls = int(part(partCalls, 64*callBytes, calls*callBytes) / callBytes)
	s.ClaimBytes = claimBytes
	if left < 1<<30 { // all calls may be claims that get their tasks at the same time
		s.ClaimBytes = max(64<<10, min(claimBytes, 4*s.OutboxBytes/int64(s.Calls)))
	}
	if total > 0 {
		s.GoBytes = max(total/4, s.goBytes(n))
	}
	return s
}

// goBytes returns how many bytes remain for the Go runtime after the memory outside of the Go heap
// is subtracted.
func (s *Shares) goBytes(shards int64) int64 {
	offHeap := memTablesMax*s.MemTableBytes*shards + logMemTablesMax*s.LogMemTableBytes + s.BlockCacheBytes
	return s.Total/100*goPercent - programTextBytes - offHeap
}
