// Package access implements access tokens, and tenants with their quotas.
//
// # Usage
//
// New returns an empty Registry, and Load fills it from a Store. Authenticate returns the Identity
// of a secret. The Scopes and the Tenant of the Identity define the caller's permissions. A stream
// must end when the Done channel of its Identity is closed. TakeEnqueues, CheckLeases and
// CheckPayload return an error if a call would exceed a quota. Account returns the account in which
// the shards count a tenant's tasks, bytes and leases. CreateToken, RotateToken, RevokeToken and
// ConfigureTenant change the registry on behalf of an Identity.
//
// In a cluster, every node has a registry, and Follow reads changes that another node made. The
// nodes share the quotas, as coordinator.go explains. Report returns what a node reports to the
// Coordinator, and Apply applies the answer.
//
// # Records
//
// The record of a token contains the hash of each secret, but not the secret. record.go describes
// the records, and secret.go describes the text of a secret.
//
// # Concurrency
//
// After Load returned, all methods of a Registry are safe for concurrent use. Authenticate,
// TakeEnqueues and the accounts take no lock: they read an immutable snapshot, and count with
// atomic operations. Changes are serialized. A change takes effect only after it is stored. If it
// cannot be stored, it has no effect. A Coordinator is not safe for concurrent use: its caller must
// serialize the calls.
//
// # Errors
//
// errors.go contains the sentinel errors. A *DeniedError names the missing permission, a
// *queue.FieldError names the invalid field, and a *queue.QuotaError names the exhausted quota and
// the retry delay.
package access
