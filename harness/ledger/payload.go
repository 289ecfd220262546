package ledger

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// HeaderSize is the size in bytes of the identity at the begin of every payload. It is also the
// smallest payload size.
const HeaderSize = 32

// The header, all words little-endian:
//
//	0           8                        16             24         32
//	| round id  | producer 24 | seq 40 b | intended ns  | checksum | filler …
//
// The filler is derived from the identity, or is content that the caller provided. The checksum
// covers the header before it, the filler, the payload's length, and the tenant and queue that the
// task was sent to.
const (
	roundAt    = 0
	sequenceAt = 8
	intendedAt = 16
	checksumAt = 24

	sequenceBits = 40
	producerBits = 24
)

// Bounds of an Identity. At a million tasks a second, one producer uses MaxSequences numbers in
// twelve days.
const (
	MaxProducers = 1 << producerBits
	MaxSequences = 1 << sequenceBits
)

// Identity identifies the task of a payload.
type Identity struct {
	Round    uint64 // id of the round that sent the task
	Producer uint32 // number of the producer, below MaxProducers
	Sequence uint64 // number of earlier tasks of the producer, below MaxSequences
	// IntendedNS is the intended start, in nanoseconds since the round's epoch. The ledger does not
	// read it.
	IntendedNS int64
}

// String returns the name of the task in samples and messages.
func (id Identity) String() string {
	return fmt.Sprintf("producer %d task %d", id.Producer, id.Sequence)
}

func (id Identity) word() uint64 {
	return uint64(id.Producer)<<sequenceBits | id.Sequence&(MaxSequences-1)
}

// Address is a queue of a tenant. It holds the hash of the names, so that many payloads can share
// it.
type Address struct {
	Tenant, Queue string
	hash          uint64
}

// NewAddress returns the address of the queue of the tenant.
func NewAddress(tenant, queue string) Address {
	return Address{Tenant: tenant, Queue: queue, hash: routeHash(tenant, queue)}
}

// Seal fills payload, which must have at least HeaderSize bytes, for the task id sent to an
// address. It overwrites the whole payload and retains no reference to it.
func Seal(payload []byte, id Identity, to Address) {
	_ = payload[HeaderSize-1]
	fill(payload[HeaderSize:], fillerSeed(id.Round, id.word()))
	SealAround(payload, id, to)
}

// SealAround is Seal for a payload with its own content: it writes the header and keeps the content
// after it, which may be empty.
func SealAround(payload []byte, id Identity, to Address) {
	_ = payload[HeaderSize-1]
	binary.LittleEndian.PutUint64(payload[roundAt:], id.Round)
	binary.LittleEndian.PutUint64(payload[sequenceAt:], id.word())
	binary.LittleEndian.PutUint64(payload[intendedAt:], uint64(id.IntendedNS))
	binary.LittleEndian.PutUint64(payload[checksumAt:], contentHash(payload)^to.hash)
}

// Open returns the identity in a payload that was claimed from an address. The identity is valid
// only if the error is nil.
func Open(payload []byte, from Address) (Identity, error) {
	id, route, err := open(payload)
	if err != nil {
		return id, err
	}
	if route != from.hash {
		return id, ErrMisrouted
	}
	return id, nil
}

// open returns the identity in a payload, and the hash of the route for which it was sealed,
// provided that the payload is undamaged.
func open(payload []byte) (id Identity, route uint64, err error) {
	if len(payload) < HeaderSize {
		return id, 0, fmt.Errorf("%w: %d bytes, less than the header of %d", ErrDamaged, len(payload), HeaderSize)
	}
	word := binary.LittleEndian.Uint64(payload[sequenceAt:])
	id = Identity{
		Round:      binary.LittleEndian.Uint64(payload[roundAt:]),
		Producer:   uint32(word >> sequenceBits),
		Sequence:   word & (MaxSequences - 1),
		IntendedNS: int64(binary.LittleEndian.Uint64(payload[intendedAt:])),
	}
	return id, binary.LittleEndian.Uint64(payload[checksumAt:]) ^ contentHash(payload), nil
}

// contentHash hashes a payload without its checksum. In the hashed header, the hash of the content
// replaces the checksum.
func contentHash(payload []byte) uint64 {
	var head [HeaderSize]byte
	copy(head[:checksumAt], payload)
	binary.LittleEndian.PutUint64(head[checksumAt:], xxhash.Sum64(payload[HeaderSize:]))
	return xxhash.Sum64(head[:])
}

// routeHash hashes the name of a queue of a tenant. It spreads only the tenant's part, so that
// ("a", "b") and ("b", "a") differ.
func routeHash(tenant, queue string) uint64 {
	return finish(xxhash.Sum64String(tenant)) ^ xxhash.Sum64String(queue)
}

// golden is the increment of splitmix64.
const golden = 0x9e3779b97f4a7c15

// finish is the output function of splitmix64. Each bit of h affects all bits of the result.
func finish(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func fillerSeed(round, word uint64) uint64 {
	return finish(round*golden ^ word)
}

// fill writes the filler that is derived from seed by splitmix64, so that each word depends only on
// its position.
func fill(b []byte, seed uint64) {
	for ; len(b) >= 8; b = b[8:] {
		seed += golden
		binary.LittleEndian.PutUint64(b, finish(seed))
	}
	if len(b) > 0 {
		w := finish(seed + golden)
		for i := range b {
			b[i] = byte(w >> (8 * i))
		}
	}
}
