package client

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
)

// Admin is a connection to the admin listener of one server. It is safe for concurrent use.
type Admin struct {
	adminpb.AdminServiceClient
	conn *grpc.ClientConn
}

// DialAdmin returns a client of the admin listener at "host:port". It connects when it is first
// used. It accepts the same options as Dial, with the same restriction of WithToken.
func DialAdmin(address string, options ...grpc.DialOption) (*Admin, error) {
	options, err := readTokens(address, options)
	if err != nil {
		return nil, err
	}
	conn, err := connect(address, &defaultTiming, options, &handshakes{})
	if err != nil {
		return nil, err
	}
	return &Admin{AdminServiceClient: adminpb.NewAdminServiceClient(conn), conn: conn}, nil
}

// Close closes the connection.
func (a *Admin) Close() error {
	if err := a.conn.Close(); err != nil {
		return fmt.Errorf("close the connection to %s: %w", a.conn.Target(), err)
	}
	return nil
}
