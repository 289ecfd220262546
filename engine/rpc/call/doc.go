// Package call contains what all calls of the engine's services share: authentication and memory
// limits before a service decides, and the conversion of errors to answers afterwards.
//
// An Auth authenticates a call or stream by its headers and puts the caller into the context. The
// service then checks permissions with Tenant, TenantOrAll, Allowed or Operator. These functions
// refuse a context that does not come from an Auth. An Intake limits the messages that a gRPC
// server decodes: it admits a call within the Bounds of the process, and reserves memory for each
// message before decoding it. A Link represents the connection of a call and updates the counters
// of its listener.
//
// Only this package converts errors of lower packages to answers: Status refuses a whole call,
// ItemError refuses one item of a batch. Both describe an error by its code, invalid field, retry
// delay and leading node. An unknown error becomes codes.Internal. A MisroutedError means that
// another node leads the shard of a call.
//
// All types are safe for concurrent use unless their comments restrict it.
package call
