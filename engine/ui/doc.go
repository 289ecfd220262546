// Package ui serves the web page for operators: queues, tasks, finished tasks, dead letters,
// recurring tasks, tenants and the cluster. New returns its handler for the paths under Root.
//
// The server renders each page from the answers of the admin service, and of GetTask, AwaitResult and
// ListDependencies of the queue service. The page therefore has exactly the permissions, forwarding and
// limits of these calls: it never reads a shard itself. Each page shows one page of a list.
//
// A user signs in with an access token. The server keeps the token in memory under a random session
// id, and authenticates the token again for each request, so that a revoked token ends its sessions
// at once. The following rules protect a session:
//
//   - Its cookie is HttpOnly and SameSite=Strict, and Secure if the listener has TLS.
//   - The number of sessions and their duration are limited, and so are failed attempts to sign in.
//   - A request that changes something is a POST from a page of the same origin, with the session's
//     secret form value. The session must have been opened for changes.
//   - The Content-Security-Policy allows only this server's files, and no frame.
//
// The caller must refuse foreign Host headers, because a browser would consider a page of such a
// host to be of the same origin.
//
// The handler is safe for concurrent use.
package ui
