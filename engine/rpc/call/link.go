package call

import (
	"context"
	"net"

	"google.golang.org/grpc/peer"
)

// Link is the connection of a call, with the counters of its listener. A connection's remote
// address may implement it. The methods are safe for concurrent use. Only Called may block.
type Link interface {
	// Called records that a call was received. It waits while the process uses too much memory.
	Called()
	// Known records that a call of a tenant was authenticated. It returns an error if the tenant
	// has too many connections.
	Known(tenant string) error
	// Probed records a call that requires no token.
	Probed()
	// Consumed records that received bytes were decoded.
	Consumed(bytes int)
	// Holds adds bytes to the number of bytes that the server buffers until the client reads them.
	// bytes may be negative.
	Holds(bytes int)
	// Answers records that bytes of answers were passed to the connection for writing.
	Answers(bytes int)
	// Unread reports whether too many bytes wait for clients to read them, on this connection or on
	// all connections together.
	Unread() bool
}

type linkKey struct{}

// WithLink returns a context for the HTTP requests on a connection.
func WithLink(ctx context.Context, c net.Conn) context.Context {
	if l, ok := c.RemoteAddr().(Link); ok {
		return context.WithValue(ctx, linkKey{}, l)
	}
	return ctx
}

// LinkOf returns the link of a call, or a link that does nothing if the connection has none.
func LinkOf(ctx context.Context) Link {
	if l, ok := ctx.Value(linkKey{}).(Link); ok {
		return l
	}
	if p, ok := peer.FromContext(ctx); ok {
		if l, ok := p.Addr.(Link); ok {
			return l
		}
	}
	return noLink{}
}

// RemoteAddress returns the remote address of a call's connection, for logs; "" if unknown.
func RemoteAddress(ctx context.Context) string {
	if a, ok := LinkOf(ctx).(net.Addr); ok {
		return a.String()
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// Holds calls Link.Holds for a call over HTTP.
func Holds(ctx context.Context, bytes int) { LinkOf(ctx).Holds(bytes) }

// noLink is the link of calls from this process and from other nodes.
type noLink struct{}

func (noLink) Called()            {}
func (noLink) Known(string) error { return nil }
func (noLink) Probed()            {}
func (noLink) Consumed(int)       {}
func (noLink) Holds(int)          {}
func (noLink) Answers(int)        {}
func (noLink) Unread() bool       { return false }
