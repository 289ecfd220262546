// Package call has what every call of the engine's services needs, before and after the service decides: who calls, whether
// there is memory for the call, and what an error says to the client.
//
// An Auth authenticates a call or stream by its headers and puts the caller into the context. A service then asks with Tenant,
// TenantOrAll, Allowed or Operator whether the caller may do what the call needs; these refuse a context that no Auth has seen. An
// Intake bounds what a gRPC server decodes: it admits a call within the Bounds of the process, and reserves memory for a message
// before the message is decoded. The Link is the connection of a call, with the counters that its listener keeps.
//
// Errors of the packages below become answers in one place: Status refuses a whole call, ItemError refuses one item of a batch,
// and both say the same of an error: its code, the field at fault, when to try again, which node leads. An error that this
// package does not know becomes codes.Internal. A MisroutedError says that another node leads the shard of a call.
//
// All types are safe for concurrent use, except where their comments say otherwise.
package call
