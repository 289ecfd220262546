package bare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/grpc"
)

// The cost of flushes per cycle does not depend on the size of the memtable. The size is a quarter
// of the engine's, so that a measurement of a second contains several flushes instead of one or
// none.
const (
	memTableBytes  = 16 << 20
	memTablesStop  = 4
	l0Compact      = 8
	l0Stop         = 64
	socketBytes    = 128 << 10 // size of each buffer between gRPC and a connection
	streamWindow   = 4 << 20
	connWindow     = 8 << 20
	produceMethod  = "produce"
	workMethod     = "work"
	serviceName    = "bare"
	storeFolder    = "store"
	loopbackListen = "127.0.0.1:0"
)

type serverSide struct {
	store *pebble.DB
	grpc  *grpc.Server
	shard *shard
	group *group
}

type serveArguments struct {
	Folder string `json:"folder"` // existing folder for the store
	Sync   bool   `json:"sync"`   // whether to acknowledge only after fsync
}

// serving is the answer to the command serve.
type serving struct {
	Address string `json:"address"`
}

func openStore(folder string, in vfs.FS) (*pebble.DB, error) {
	store, err := pebble.Open(folder, &pebble.Options{
		FS: in, FormatMajorVersion: pebble.FormatNewest, MemTableSize: memTableBytes, MemTableStopWritesThreshold: memTablesStop,
		L0CompactionThreshold: l0Compact, L0StopWritesThreshold: l0Stop, Logger: silent{}, ErrorIfExists: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open a store: %w", err)
	}
	return store, nil
}

// silent discards Pebble's log, because Pebble also returns errors.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	// Pebble expects that Fatalf does not return. The parent's error shows the panic.
	panic(fmt.Sprintf(format, args...))
}

// serve opens an empty store and starts a server, which runs until ctx is done or stop is called.
func (s *serverSide) serve(ctx context.Context, a serveArguments) (serving, error) {
	store, err := openStore(a.Folder, vfs.Default)
	if err != nil {
		return serving{}, err
	}
	listener, err := net.Listen("tcp", loopbackListen)
	if err != nil {
		return serving{}, errors.Join(fmt.Errorf("listen: %w", err), store.Close())
	}
	s.store, s.shard, s.group = store, newShard(store, a.Sync), newGroup(ctx)
	s.grpc = grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.WriteBufferSize(socketBytes), grpc.ReadBufferSize(socketBytes),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connWindow))
	s.grpc.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: produceMethod, ServerStreams: true, ClientStreams: true, Handler: s.handler((*shard).enqueue)},
		{StreamName: workMethod, ServerStreams: true, ClientStreams: true, Handler: s.handler((*shard).work)},
	}}, s)
	s.group.run(func() error { return s.shard.decide(s.group) })
	s.group.run(func() error { return s.shard.commit(s.group) })
	s.group.run(func() error { return s.grpc.Serve(listener) })
	s.group.run(func() error {
		<-s.group.ctx.Done()
		s.grpc.Stop() // fails the calls of clients that still wait for an answer
		return nil
	})
	return serving{listener.Addr().String()}, nil
}

// handler returns a handler that serves a stream. It calls apply for each frame of the stream.
func (s *serverSide) handler(apply func(*shard, request, *decision) (int, error)) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		of := &session{replies: make(chan []byte, repliesMax), done: make(chan struct{})}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			of.reply(stream)
		}()
		defer func() { <-sent }() // gRPC forbids sending after the handler has returned
		defer close(of.done)
		for {
			var f frame
			if err := stream.RecvMsg(&f); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("receive a frame: %w", err)
			}
			if !send(s.group, s.shard.requests, request{of, apply, f.bytes}) {
				return context.Cause(s.group.ctx)
			}
		}
	}
}

func (s *session) reply(stream grpc.ServerStream) {
	for {
		select {
		case f := <-s.replies:
			if stream.SendMsg(&frame{f}) != nil {
				return // the stream has ended; the receiver returns the reason
			}
		case <-s.done:
			return
		}
	}
}

func (s *serverSide) stop() error {
	if s.store == nil {
		return nil
	}
	return errors.Join(s.group.stop(), s.store.Close())
}
