package symbols

// Waits are the functions in which goroutines of a server wait for something other than a lock. They leave out the goroutines
// that wait to receive in the function that they were started with. A wait in any other function counts as contention: an idle
// loop that is reported by mistake does less harm than a full channel that is overlooked.
var Waits = []Wait{
	// The harness makes the server wait when it reads metrics, profiles and traces.
	{Function: "github.com/prometheus/client_golang/*", Anywhere: true, For: ForAnswer, Why: "the harness reads metrics"},
	{Function: "net/http/pprof.*", Anywhere: true, For: ForAnswer, Why: "the harness reads profiles"},
	{Function: "runtime/trace.*", Anywhere: true, For: ForAnswer, Why: "the harness reads a trace"},

	// The engine.
	{Function: Module + "engine/shard.(*Shard).wait", For: ForWork, Why: "nothing is to be decided"},
	{Function: Module + "engine/shard.(*Shard).publish", For: ForWork, Why: "nothing was decided"},
	{Function: Module + "engine/rpc.(*produceStream).send", For: ForWork, Why: "no answer is to be sent"},
	{Function: Module + "engine/rpc.(*workStream).send", For: ForWork, Why: "no task is to be sent"},
	{Function: Module + "engine/rpc.(*workStream).receive.func1", For: ForWork, Why: "a stream that ends waits for its tasks"},
	{Function: Module + "engine/rpc.(*Service).claimWaiting", For: ForWork, Why: "there is no task to claim"},
	{Function: Module + "engine/rpc.(*inFlight).acquire", For: ForLock, Why: "as many calls are under way as may be"},
	{Function: Module + "engine/shard.AwaitReply", For: ForAnswer, Why: "a call waits for its shard, whose stages say for what"},
	{Function: Module + "engine/rpc/route.*", For: ForAnswer, Why: "a call waits for another node"},
	{Function: Module + "engine/rpc.*", For: ForAnswer, Why: "a call waits for a shard or another node"},
	{Function: Module + "engine/cluster.*", For: ForWork, Why: "what a cluster does besides serving is done now and then"},
	{Function: Module + "engine/node.*", For: ForWork, Why: "what a node does besides serving is done now and then"},
	{Function: Module + "engine/memory.(*Gate).Watch", For: ForWork, Why: "it measures the process periodically"},
	{Function: Module + "engine/replica.(*proposal).Wait", For: ForAnswer, Why: "it is the stage replicate"},
	{Function: Module + "engine/replica.(*tenureLog).settle", For: ForWork, Why: "nothing was proposed"},
	{Function: Module + "engine/storage/disk.(*Space).watch", For: ForWork, Why: "it looks at the free space now and then"},
	{Function: Module + "engine/storage/disk.(*deferredSync).end", For: ForAnswer, Why: "as many closed logs as may be wait for their fsync"},
	{Function: Module + "engine/storage/disk.(*deferredSync).*", For: ForWork, Why: "it syncs now and then"},

	// Pebble.
	{Function: "github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter", For: ForWork, Why: "it is a clock"},
	{Function: "github.com/cockroachdb/pebble/v2.(*Batch).SyncWait", For: ForAnswer, Why: "it is the stage commit"},
	{Function: "github.com/cockroachdb/pebble/v2/record.(*flusherCond).Wait", For: ForWork, Why: "nothing is to be written to the log"},
	{Function: "github.com/cockroachdb/pebble/v2/record.(*LogWriter).*", For: ForAnswer, Why: "a log is closed"},
	{Function: "github.com/cockroachdb/pebble/v2/sstable.(*RawColumnWriter).*", For: ForAnswer, Why: "a table is written by two goroutines"},
	{Function: "github.com/cockroachdb/pebble/v2/vfs.*", For: ForWork, Why: "it watches the disk now and then"},

	// Raft.
	{Function: "github.com/hashicorp/raft.(*Raft).*", For: ForWork, Why: "it is one of its loops"},
	{Function: "github.com/hashicorp/raft.(*netPipeline).decodeResponses", For: ForWork, Why: "nothing was sent"},
	{Function: "github.com/hashicorp/raft.(*NetworkTransport).*", For: ForAnswer, Why: "it waits for the loop that answers"},
	{Function: "github.com/hashicorp/raft.(*deferError).Error", For: ForAnswer, Why: "it is the stage replicate"},
	{Function: "github.com/hashicorp/raft.(*shutdownFuture).Error", For: ForAnswer, Why: "a group ends"},

	// gRPC and HTTP.
	{Function: "google.golang.org/grpc.(*Server).serverWorker", For: ForWork, Why: "no call came"},
	{Function: "google.golang.org/grpc/internal/transport.(*recvBufferReader).*", For: ForWork, Why: "no frame came"},
	{Function: "google.golang.org/grpc/internal/transport.(*controlBuffer).get", For: ForWork, Why: "no frame is to be sent"},
	{Function: "google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader", For: ForAnswer, Why: "another node executes the call"},
	{Function: "google.golang.org/grpc/internal/grpcsync.*", For: ForWork, Why: "nothing changed"},
	{Function: "google.golang.org/grpc/test/bufconn.(*pipe).Read", For: ForWork, Why: "no byte came from the other end of a pipe in memory"},
	{Function: "net/http.*", For: ForWork, Why: "a connection has no request"},
	{Function: "golang.org/x/net/http2.*", For: ForWork, Why: "a connection has no frame"},
}
