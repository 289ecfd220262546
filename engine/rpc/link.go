package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc/peer"
)

// Link is the connection that a call came on, as its listener knows it: the remote address of a connection may be one. Its
// methods are safe for concurrent use, and must not block.
type Link interface {
	// Known says that a call of a tenant was authenticated. It returns an error if the tenant has as many connections as
	// it may.
	Known(tenant string) error
	// Probed says that a call came that needs no token.
	Probed()
	// Consumed says that so many bytes that came were decoded.
	Consumed(bytes int)
	// Holds says that so many bytes more, or less if negative, are kept for the client to read.
	Holds(bytes int)
	// Answers says that so many bytes of answers are on their way to be written.
	Answers(bytes int)
	// Unread says whether more waits to be written than may, on this connection or on all.
	Unread() bool
}

type linkKey struct{}

// WithLink returns a context for what comes over HTTP on a connection.
func WithLink(ctx context.Context, c net.Conn) context.Context {
	if l, ok := c.RemoteAddr().(Link); ok {
		return context.WithValue(ctx, linkKey{}, l)
	}
	return ctx
}

// linkOf returns the link of a call; one that does nothing if its connection has none.
func linkOf(ctx context.Context) Link {
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

// Holds says for a call over HTTP that so many bytes more, or less if negative, are kept for the client to read.
func Holds(ctx context.Context, bytes int) { linkOf(ctx).Holds(bytes) }

// noLink is the link of calls in this process, and of other nodes' calls.
type noLink struct{}

func (noLink) Known(string) error { return nil }
func (noLink) Probed()            {}
func (noLink) Consumed(int)       {}
func (noLink) Holds(int)          {}
func (noLink) Answers(int)        {}
func (noLink) Unread() bool       { return false }
