package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/queuepb"
)

// sendPreface begins an HTTP/2 connection.
func sendPreface(c net.Conn, settings ...http2.Setting) error {
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return err
	}
	return http2.NewFramer(c, c).WriteSettings(settings...)
}

func callHeaders(method, secret string) []hpack.HeaderField {
	return []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: "queued"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "authorization", Value: "Bearer " + secret},
	}
}

func sendCall(f *http2.Framer, stream uint32, method, secret string) error {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range callHeaders(method, secret) {
		if err := e.WriteField(h); err != nil {
			return err
		}
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b.Bytes(), EndHeaders: true})
}

// prefixed frames a message as gRPC does, with the given length, which may exceed that of the
// message.
func prefixed(message []byte, length int) []byte {
	return append([]byte{0, byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}, message...)
}

// sendPartOfACall sends an enqueue whose message lacks its last byte. It respects flow control: it
// sends the message in parts, as far as the connection's and the stream's windows allow.
func sendPartOfACall(c net.Conn, secret string, message []byte) error {
	if err := sendPreface(c); err != nil {
		return err
	}
	f := http2.NewFramer(c, c)
	if err := sendCall(f, 1, queuepb.QueueService_Enqueue_FullMethodName, secret); err != nil {
		return err
	}
	b := prefixed(message, len(message)+1)
	ofConn, ofStream := 65_535, 65_535 // the defaults, until the server's settings arrive
	for len(b) > 0 {
		n := min(16<<10, len(b), ofConn, ofStream)
		if n > 0 {
			if err := f.WriteData(1, false, b[:n]); err != nil {
				return err
			}
			b, ofConn, ofStream = b[n:], ofConn-n, ofStream-n
			continue
		}
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.WindowUpdateFrame:
			if frame.StreamID == 0 {
				ofConn += int(frame.Increment)
			} else {
				ofStream += int(frame.Increment)
			}
		case *http2.SettingsFrame:
			if size, ok := frame.Value(http2.SettingInitialWindowSize); ok {
				ofStream += int(size) - 65_535
			}
			if !frame.IsAck() {
				if err := f.WriteSettingsAck(); err != nil {
					return err
				}
			}
		case *http2.HeadersFrame, *http2.RSTStreamFrame, *http2.GoAwayFrame: // the call was refused
			return nil
		}
	}
	return nil
}

// claimWithoutWindow repeats claims on one connection whose window lets no answer through, until
// the connection is cut or ctx ends.
func claimWithoutWindow(ctx context.Context, c net.Conn, secret, queue string) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := sendPreface(c, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		return err
	}
	message, err := proto.Marshal(&queuepb.ClaimRequest{Queues: []string{queue}, MaxTasks: 10, LeaseMs: 50, WaitMs: 1_000})
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, c) }() // headers and refusals
	f := http2.NewFramer(c, c)
	for stream := uint32(1); ; stream += 2 {
		if err := sendCall(f, stream, queuepb.QueueService_Claim_FullMethodName, secret); err != nil {
			return err
		}
		if err := f.WriteData(stream, true, prefixed(message, len(message))); err != nil {
			return err
		}
	}
}

// sendRefusedCalls sends headers of calls with an unknown token on one connection, in as few bytes
// as HTTP/2 allows, until the connection is cut or ctx ends.
func sendRefusedCalls(ctx context.Context, c net.Conn, more ...hpack.HeaderField) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	out := bufio.NewWriter(c)
	f := http2.NewFramer(out, nil)
	if err := sendPreface(c); err != nil {
		return err
	}
	var b bytes.Buffer
	e := hpack.NewEncoder(&b) // encodes repeated headers as one byte
	for stream := uint32(1); ; stream += 2 {
		b.Reset()
		for _, h := range append(callHeaders(queuepb.QueueService_Enqueue_FullMethodName, "none"), more...) {
			if err := e.WriteField(h); err != nil {
				return err
			}
		}
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b.Bytes(), EndHeaders: true, EndStream: true}); err != nil {
			return err
		}
	}
}
