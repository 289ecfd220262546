// Package call has the parts that all calls of the engine's services share, before and after the
// service's decision: authentication, memory bounds, and the answers to errors.
//
// An Auth authenticates a call or stream by its headers and puts the caller into the context. The
// service then checks permissions with Tenant, TenantOrAll, Allowed or Operator, which refuse a
// context that no Auth has produced. An Intake bounds the messages that a gRPC server decodes: it
// admits a call within the Bounds of the process, and reserves memory for each message before it is
// decoded. The Link is the connection of a call, with its listener's counters.
//
// Errors of lower packages become answers in one place: Status refuses a whole call, ItemError
// refuses one item of a batch. Both describe an error in the same way: code, invalid field, retry
// delay, leading node. An unknown error becomes codes.Internal. A MisroutedError means that another
// node leads the shard of a call.
//
// All types are safe for concurrent use unless their comments restrict it.
package call
