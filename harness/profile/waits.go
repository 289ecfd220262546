package profile

// knownWaits are the functions in which goroutines of a server wait for something other than a lock, besides those that
// wait to receive in the function that they were started with. A function that is not here counts as contention: better
// that an idle loop is accused, and looked at, than that a full channel is overlooked.
var knownWaits = []knownWait{
	// Who asks how the server is makes it wait, and that is the harness.
	{function: "github.com/prometheus/client_golang/*", anywhere: true, wait: ForAnswer, why: "the harness reads metrics"},
	{function: "net/http/pprof.*", anywhere: true, wait: ForAnswer, why: "the harness reads profiles"},
	{function: "runtime/trace.*", anywhere: true, wait: ForAnswer, why: "the harness reads a trace"},

	// The engine.
	{function: modulePath + "engine/shard.(*Shard).wait", wait: ForWork, why: "nothing is to be decided"},
	{function: modulePath + "engine/shard.(*Shard).release", wait: ForWork, why: "nothing was decided"},
	{function: modulePath + "engine/rpc.(*produceStream).send", wait: ForWork, why: "no answer is to be sent"},
	{function: modulePath + "engine/rpc.(*workStream).send", wait: ForWork, why: "no task is to be sent"},
	{function: modulePath + "engine/rpc.(*workStream).receive.func1", wait: ForWork, why: "a stream that ends waits for its tasks"},
	{function: modulePath + "engine/rpc.(*Service).claimWaiting", wait: ForWork, why: "there is no task to claim"},
	{function: modulePath + "engine/rpc.(*door).enter", wait: ForLock, why: "as many calls are under way as may be"},
	{function: modulePath + "engine/rpc.await", wait: ForAnswer, why: "a call waits for its shard, whose stages say for what"},
	{function: modulePath + "engine/rpc.*", wait: ForAnswer, why: "a call waits for a shard or another node"},
	{function: modulePath + "engine/node.*", wait: ForWork, why: "what a node does besides serving is done now and then"},
	{function: modulePath + "engine/memory.(*Gate).Watch", wait: ForWork, why: "it looks at the process now and then"},
	{function: modulePath + "engine/replica.(*proposal).Wait", wait: ForAnswer, why: "it is the stage replicate"},
	{function: modulePath + "engine/replica.(*leadLog).settle", wait: ForWork, why: "nothing was proposed"},
	{function: modulePath + "engine/storage/disk.(*deferredSync).*", wait: ForWork, why: "it syncs now and then"},

	// Pebble.
	{function: "github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter", wait: ForWork, why: "it is a clock"},
	{function: "github.com/cockroachdb/pebble/v2.(*Batch).SyncWait", wait: ForAnswer, why: "it is the stage commit"},
	{function: "github.com/cockroachdb/pebble/v2/record.(*flusherCond).Wait", wait: ForWork, why: "nothing is to be written to the log"},
	{function: "github.com/cockroachdb/pebble/v2/record.(*LogWriter).*", wait: ForAnswer, why: "a log is closed"},
	{function: "github.com/cockroachdb/pebble/v2/sstable.(*RawColumnWriter).*", wait: ForAnswer, why: "a table is written by two goroutines"},
	{function: "github.com/cockroachdb/pebble/v2/vfs.*", wait: ForWork, why: "it watches the disk now and then"},

	// Raft.
	{function: "github.com/hashicorp/raft.(*Raft).*", wait: ForWork, why: "it is one of its loops"},
	{function: "github.com/hashicorp/raft.(*netPipeline).decodeResponses", wait: ForWork, why: "nothing was sent"},
	{function: "github.com/hashicorp/raft.(*NetworkTransport).*", wait: ForAnswer, why: "it waits for the loop that answers"},
	{function: "github.com/hashicorp/raft.(*deferError).Error", wait: ForAnswer, why: "it is the stage replicate"},
	{function: "github.com/hashicorp/raft.(*shutdownFuture).Error", wait: ForAnswer, why: "a group ends"},

	// gRPC and HTTP.
	{function: "google.golang.org/grpc.(*Server).serverWorker", wait: ForWork, why: "no call came"},
	{function: "google.golang.org/grpc/internal/transport.(*recvBufferReader).*", wait: ForWork, why: "no frame came"},
	{function: "google.golang.org/grpc/internal/transport.(*controlBuffer).get", wait: ForWork, why: "no frame is to be sent"},
	{function: "google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader", wait: ForAnswer, why: "another node carries the call out"},
	{function: "google.golang.org/grpc/internal/grpcsync.*", wait: ForWork, why: "nothing changed"},
	{function: "net/http.*", wait: ForWork, why: "a connection has no request"},
	{function: "golang.org/x/net/http2.*", wait: ForWork, why: "a connection has no frame"},
}
