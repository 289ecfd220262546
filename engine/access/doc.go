// Package access decides who may call, and how much: access tokens, and tenants with their quotas.
//
// # Usage
//
// New returns an empty Registry, Load fills it from a Store. Authenticate returns the Identity of a secret; its Scopes and
// Tenant say what the caller may do, and its Done ends streams when the token does. TakeEnqueues, CheckLeases and
// CheckPayload refuse calls beyond a quota; Account returns the account in which the shards count a tenant's tasks, bytes and
// leases. CreateToken, RotateToken, RevokeToken and ConfigureTenant change the registry, on behalf of an Identity.
//
// In a cluster, every node has a registry: Follow reads what another node changed. Quotas are divided among the nodes:
// coordinator.go explains how. Report and Apply exchange limits with the Coordinator.
//
// # Records
//
// A token's record has the hash of each secret, never a secret. record.go draws the records, secret.go the text of a secret.
//
// # Concurrency
//
// All methods of a Registry may be called by several goroutines at once, after Load returned. Authenticate, TakeEnqueues and
// the accounts take no lock: they read an immutable snapshot, and count with atomic operations. One change is made at a time:
// it is stored first, and takes effect when the store has it. A change that cannot be stored changes nothing. A Coordinator
// has no lock; its caller has.
//
// # Errors
//
// errors.go has the sentinel errors. *DeniedError says what the caller may not do, *queue.FieldError which field is wrong,
// and *queue.QuotaError which quota is used up, and when to try again.
package access
