package memory

// What the parts of a server have when nothing bounds them: what its published figures were measured with.
const (
	memTableBytes    = 64 << 20 // of a store alone; it has up to four
	memTableSmall    = 2 << 20  // of each of many stores
	memTableLeast    = 512 << 10
	logMemTableBytes = 128 << 20
	blockCacheBytes  = 32 << 20
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
	claimBytes       = 3 << 20 // less than the 4 MiB that a gRPC client takes unless told otherwise
	connections      = 1 << 16
	calls            = 1 << 16
)

// What things take, measured or bounded from above.
const (
	// programBytes is what the process has before it holds anything: its program, the runtime's own, Pebble's own.
	programBytes = 64 << 20
	// programTextBytes is what the program's file takes of that, when all of it was used.
	programTextBytes = 40 << 20
	// queueBytes is what a queue takes that has been used.
	queueBytes = 3 << 10
	// windowTaskBytes is what a task in a window takes without its payload.
	windowTaskBytes = 128
	// connBytes is what a connection takes beside its buffers, and callBytes what a call or stream does beside its messages.
	connBytes = 32 << 10
	callBytes = 24 << 10
	// MessageFactor is how many times its encoded size a request takes while it is decoded and decided: as it was read, as
	// it was put together, and as the message.
	MessageFactor = 3
	// goPercent of the total is where the runtime collects garbage more often, what is not its own counted in.
	goPercent = 84
	// memTablesMax and logMemTablesMax are how many memtables a store and the Raft logs have at a time.
	memTablesMax, logMemTablesMax = 4, 2
)

// Shares are what each part of a server may take.
type Shares struct {
	// Total is what the process may take, resident; 0 means that it is not bounded.
	Total int64
	// GoBytes is what the Go runtime may take of it, for GOMEMLIMIT; 0 means that it is not bounded.
	GoBytes int64

	MemTableBytes    int64 // of each memtable of each shard
	LogMemTableBytes int64 // of each memtable of the Raft logs
	BlockCacheBytes  int64 // of all shards
	PayloadBytes     int64 // of payloads of tasks in windows, in all shards
	WindowTasks      int   // in the windows of all shards
	Queues           int   // of each shard
	InboxBytes       int64 // of payloads of commands that wait, in all shards

	RequestBytes int64 // of requests being read, decoded and decided
	MessageBytes int   // of one request, encoded
	OutboxBytes  int64 // of what streams and answers hold for clients that have not read it
	ClaimBytes   int64 // of the answer to one claim, roughly; one task always fits

	Connections     int
	ConnBufferBytes int // of a connection's read buffer, and of its write buffer
	StreamWindow    int // of HTTP/2's flow control
	ConnWindow      int
	Calls           int // calls and streams under way
}

// part is what a part of the server has of the memory beside programBytes, in hundredths. What all parts
// leave is for garbage that is not collected yet.
const (
	partMemTables   = 20 // in C's memory, with the block cache
	partBlockCache  = 4
	partPayloads    = 8
	partQueues      = 8
	partWindows     = 7
	partInboxes     = 8
	partRequests    = 14
	partOutboxes    = 8
	partConnections = 6
	partCalls       = 8
)

// SharesOf divides total bytes among the parts of a server with a number of shards. No part has more than it was
// measured with. A total of 0 divides nothing: each part has that. clustered says that there are Raft logs.
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
	share := part(tables, 0, 1<<50) / memTablesMax / n
	s.MemTableBytes = max(min(share, memTableBytes/n), min(share, memTableSmall), memTableLeast)
	s.BlockCacheBytes = part(partBlockCache, 1<<20, blockCacheBytes)
	s.PayloadBytes = part(partPayloads, 1<<20, payloadBytes)
	s.WindowTasks = int(part(partWindows, 4_096*windowTaskBytes, windowTasks*windowTaskBytes) / windowTaskBytes)
	s.InboxBytes = part(partInboxes, 1<<20, inboxBytes)
	s.RequestBytes = part(partRequests, 4<<20, requestBytes)
	s.MessageBytes = int(min(messageBytes, s.RequestBytes/MessageFactor))
	s.OutboxBytes = part(partOutboxes, 4<<20, outboxBytes)
	s.Queues = int(part(partQueues, 250*queueBytes*n, queues*queueBytes*n) / queueBytes / n)

	s.ConnBufferBytes, s.StreamWindow, s.ConnWindow = connBufferBytes, streamWindow, connWindow
	if left < 1<<30 { // many connections matter more than the last of one's throughput
		s.ConnBufferBytes, s.StreamWindow, s.ConnWindow = 16<<10, 128<<10, 512<<10
	}
	conn := int64(connBytes + s.ConnBufferBytes) // an idle connection has no read buffer
	s.Connections = int(part(partConnections, 16*conn, connections*conn) / conn)
	s.Calls = int(part(partCalls, 64*callBytes, calls*callBytes) / callBytes)
	s.ClaimBytes = claimBytes
	if left < 1<<30 { // all calls may be claims that are granted at once
		s.ClaimBytes = max(64<<10, min(claimBytes, 4*s.OutboxBytes/int64(s.Calls)))
	}
	if total > 0 {
		offHeap := memTablesMax*s.MemTableBytes*n + logMemTablesMax*s.LogMemTableBytes + s.BlockCacheBytes
		s.GoBytes = max(total/4, total/100*goPercent-programTextBytes-offHeap)
	}
	return s
}
