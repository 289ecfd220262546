// Package access implements access tokens, and tenants with their quotas.
//
// # Usage
//
// New returns an empty Registry, and Load fills it from a Store. Authenticate returns the Identity
// of a secret. Its Scopes and Tenant define the caller's permissions, and its Done channel ends
// streams when the token ends. TakeEnqueues, CheckLeases and CheckPayload refuse calls beyond a
// quota. Account returns the account in which the shards count a tenant's tasks, bytes and leases.
// CreateToken, RotateToken, RevokeToken and ConfigureTenant change the registry on behalf of an
// Identity.
//
// In a cluster, every node has a registry, and Follow reads the changes of another node. The nodes
// share the quotas, as coordinator.go explains. Report and Apply exchange limits with the
// Coordinator.
//
// # Records
//
// A token's record has the hash of each secret, but no secret. record.go describes the records, and
// secret.go the text of a secret.
//
// # Concurrency
//
// After Load returned, all methods of a Registry are safe for concurrent use. Authenticate,
// TakeEnqueues and the accounts take no lock: they read an immutable snapshot, and count with
// atomic operations. Changes are serialized. A change is stored first, and takes effect once the
// store has it. A change that cannot be stored has no effect. A Coordinator is not safe for
// concurrent use: its caller must serialize the calls.
//
// # Errors
//
// errors.go has the sentinel errors. A *DeniedError names the missing permission, a
// *queue.FieldError the invalid field, and a
// *queue.QuotaError the exhausted quota and the retry delay.
package access
