package wire

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

// The pool retains buffers of 2^bufferBitsMin to 2^bufferBitsMax bytes for reuse.
const (
	bufferBitsMin = 10
	bufferBitsMax = 22
)

// buffers is a pool of buffers whose sizes are powers of two. Unlike gRPC's pool, it does not clear
// the buffers, because its users read only bytes that they wrote.
type buffers struct {
	classes [bufferBitsMax - bufferBitsMin + 1]sync.Pool
}

var pool = &buffers{}

// Buffers returns the buffer pool of the codec. gRPC should use the same pool, because its
// connections read into buffers of the same sizes.
func Buffers() mem.BufferPool { return pool }

// Get returns a buffer of the given length. Its content is undefined.
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

// Put returns a buffer to the pool. It ignores a buffer whose capacity is not one of the pool's
// sizes.
func (p *buffers) Put(b *[]byte) {
	class := bits.Len(uint(cap(*b))) - 1 - bufferBitsMin
	if class < 0 || class >= len(p.classes) || cap(*b) != 1<<(class+bufferBitsMin) {
		return
	}
	p.classes[class].Put(b)
}
