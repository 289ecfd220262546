package wire

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

// Buffers of 2^bufferBitsMin to 2^bufferBitsMax bytes are kept for reuse.
const (
	bufferBitsMin = 10
	bufferBitsMax = 22
)

// buffers keeps buffers of powers of two. Unlike gRPC's own pool it does not clear them: its users read only bytes that they wrote.
type buffers struct {
	classes [bufferBitsMax - bufferBitsMin + 1]sync.Pool
}

var pool = &buffers{}

// Buffers returns the pool that the codec takes its buffers from. gRPC should use it too: connections read into buffers of the same
// sizes.
func Buffers() mem.BufferPool { return pool }

// Get returns a buffer of the given length, with undefined content.
func (p *buffers) Get(length int) *[]byte {
	class := max(bits.Len(uint(max(length, 1)-1))-bufferBitsMin, 0)
	if class >= len(p.classes) {
		b := make([]byte, length)
		return &b
	}
	if b, ok := p.classes[class].Get().(*[]byte); ok {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, 1<<(class+bufferBitsMin))[:length]
	return &b
}

// Put keeps a buffer for reuse. It leaves a buffer whose size the pool does not use to the garbage collector.
func (p *buffers) Put(b *[]byte) {
	class := bits.Len(uint(cap(*b))) - 1 - bufferBitsMin
	if class < 0 || class >= len(p.classes) || cap(*b) != 1<<(class+bufferBitsMin) {
		return
	}
	p.classes[class].Put(b)
}
