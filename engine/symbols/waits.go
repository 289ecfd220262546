package symbols

// Waits lists the functions of a server whose goroutines wait for something other than a lock. It
// omits goroutines that wait to receive in the function that they were started with. A wait in a
// function that is not listed counts as contention, because it is better to report an idle loop by
// mistake than to overlook a full channel.
var Waits = []Wait{
	// These functions wait while the harness reads metrics, profiles and traces.
	{Function: "github.com/prometheus/client_golang/*", Anywhere: true, For: ForAnswer, Why: "the harness reads metrics"},
	{Function: "net/http/pprof.*", Anywhere: true, For: ForAnswer, Why: "the harness reads profiles"},
	{Function: "runtime/trace.*", Anywhere: true, For: ForAnswer, Why: "the harness reads a trace"},

	// These functions belong to the engine.
	{Function: Module + "engine/shard.(*decider).wait", For: ForWork, Why: "no command waits"},
	{Function: Module + "engine/shard.(*publisher).run", For: ForWork, Why: "no turn waits"},
	{Function: Module + "engine/shard.(*Shard).wait", For: ForWork, Why: "no command waits", Former: true},
	{Function: Module + "engine/shard.(*Shard).publish", For: ForWork, Why: "no turn waits", Former: true},
	{Function: Module + "engine/rpc.(*produceStream).send", For: ForWork, Why: "no answer to send"},
	{Function: Module + "engine/rpc.(*workStream).send", For: ForWork, Why: "no task to send"},
	{Function: Module + "engine/rpc.(*workStream).receive.func1", For: ForWork, Why: "an ending stream waits for its tasks"},
	{Function: Module + "engine/rpc.(*Service).claimWaiting", For: ForWork, Why: "no task to claim"},
	{Function: Module + "engine/rpc.(*inFlight).acquire", For: ForLock, Why: "the bound of calls under way is reached"},
	{Function: Module + "engine/shard.AwaitReply", For: ForAnswer, Why: "a call waits for its shard, whose stages are measured"},
	{Function: Module + "engine/rpc/route.*", For: ForAnswer, Why: "a call waits for another node"},
	{Function: Module + "engine/rpc.*", For: ForAnswer, Why: "a call waits for a shard or another node"},
	{Function: Module + "engine/cluster.*", For: ForWork, Why: "periodic work of the cluster"},
	{Function: Module + "engine/node.*", For: ForWork, Why: "periodic work of the node"},
	{Function: Module + "engine/memory.(*Gate).Watch", For: ForWork, Why: "periodic measurement of the process"},
	{Function: Module + "engine/replica.(*proposal).Wait", For: ForAnswer, Why: "the stage replicate"},
	{Function: Module + "engine/replica.(*tenureLog).settle", For: ForWork, Why: "no entry was proposed"},
	{Function: Module + "engine/storage/disk.(*Space).watch", For: ForWork, Why: "periodic check of the free space"},
	{Function: Module + "engine/storage/disk.(*Space).every", For: ForWork, Why: "periodic checks of the data folder, and of space to reclaim"},
	{Function: Module + "engine/storage/disk.(*deferredSync).end", For: ForAnswer, Why: "the bound of closed logs that wait for their fsync is reached"},
	{Function: Module + "engine/storage/disk.(*deferredSync).*", For: ForWork, Why: "periodic fsyncs"},

	// These functions belong to Pebble.
	{Function: "github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter", For: ForWork, Why: "a clock"},
	{Function: "github.com/cockroachdb/pebble/v2.(*Batch).SyncWait", For: ForAnswer, Why: "the stage commit"},
	{Function: "github.com/cockroachdb/pebble/v2/record.(*flusherCond).Wait", For: ForWork, Why: "no record to write to the log"},
	{Function: "github.com/cockroachdb/pebble/v2/record.(*LogWriter).*", For: ForAnswer, Why: "a log is closed"},
	{Function: "github.com/cockroachdb/pebble/v2/sstable.(*RawColumnWriter).*", For: ForAnswer, Why: "a table is written by two goroutines"},
	{Function: "github.com/cockroachdb/pebble/v2/vfs.*", For: ForWork, Why: "periodic check of the disk"},

	// These functions belong to Raft.
	{Function: "github.com/hashicorp/raft.(*Raft).*", For: ForWork, Why: "an idle loop of Raft"},
	{Function: "github.com/hashicorp/raft.(*netPipeline).decodeResponses", For: ForWork, Why: "no request was sent"},
	{Function: "github.com/hashicorp/raft.(*NetworkTransport).*", For: ForAnswer, Why: "a call waits for the loop that answers it"},
	{Function: "github.com/hashicorp/raft.(*deferError).Error", For: ForAnswer, Why: "the stage replicate"},
	{Function: "github.com/hashicorp/raft.(*shutdownFuture).Error", For: ForAnswer, Why: "a group ends"},

	// These functions belong to gRPC and HTTP.
	{Function: "google.golang.org/grpc.(*Server).serverWorker", For: ForWork, Why: "no call arrived"},
	{Function: "google.golang.org/grpc/internal/transport.(*recvBufferReader).*", For: ForWork, Why: "no frame arrived"},
	{Function: "google.golang.org/grpc/internal/transport.(*controlBuffer).get", For: ForWork, Why: "no frame to send"},
	{Function: "google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader", For: ForAnswer, Why: "another node executes the call"},
	{Function: "google.golang.org/grpc/internal/grpcsync.*", For: ForWork, Why: "nothing changed"},
	{Function: "google.golang.org/grpc/test/bufconn.(*pipe).Read", For: ForWork, Why: "no byte arrived from the other end of a pipe in memory"},
	{Function: "net/http.*", For: ForWork, Why: "a connection has no request"},
	{Function: "golang.org/x/net/http2.*", For: ForWork, Why: "a connection has no frame"},
}
